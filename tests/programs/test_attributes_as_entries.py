"""An attribute and the entry of its object's ``__dict__`` are one place, however each is written and read; objects may
share their ``__dict__``, and a dict from outside may be one between two calls and none at the next."""

import pytest
from both_modes import bodies, both, plain

import msnb as ms
from msnb import nn

PROGRAMS = """if x.sum()>0: a.b=a.b+1
else: vars(a)['b']=5.
r=a.b+c.b
if x.sum()<0: a.b=a.b+1
else: vars(a)['b']=5.
r=a.b+vars(a)['b']
if x.sum()<0: vars(a)['b']=7.
else: a.b=a.b+1
r=a.b+vars(a)['b']
q=vars(a)
if x.sum()<0: q['b']=7.
else: a.b=a.b+1
r=a.b+q['b']
q=vars(a); a.b=a.b+1; r=q['b']
q=vars(a); q['b']=a.b+1; r=c.b
d['b']=4.; r=a.b
a.b=4.; r=d['b']
del d['b']; r=getattr(a,'b',7.); a.b=2.
del d['b']; r=len(vars(a)); d['b']=3.
if x.sum()>0: d['b']=a.b+1
r=a.b
if x.sum()>0: a.b=a.b+1
r=d['b']
y=x
while y.sum()<9: vars(a)['b']=a.b+1; y=y*2
r=a.b
y=x
while y.sum()<9: a.b=d['b']+1; y=y*2
r=d['b']
vars(a).pop('b'); r=hasattr(a,'b'); a.b=2.
vars(a).update(b=4.); r=a.b+d['b']
vars(a).clear(); vars(a).update(b=4.,l=[1.,2.]); r=a.b+a.l[0]
vars(a).setdefault('b',4.); r=a.b
a.__dict__['b']+=1; r=a.b
a.__dict__={'b':5.,'l':[1.,3.]}; r=a.b
a.__dict__=d; a.b=a.b+1; r=a.b
z=Holder(); z.__dict__=d; z.b=5.; r=a.b
q={'b':3.}; z=Holder(); z.__dict__=q; q['b']=5.; r=z.b; z.b=6.; r=r+q['b']
def loss(v): vars(a)['b']=a.b+1; return (v*a.b).sum()
r=ms.grad(loss)(x)*a.b
def loss(v): a.b=a.b+1; return (v*d['b']).sum()
r=ms.grad(loss)(x)*a.b
vars(a)['b']=a.b+1
if x.sum()>0: c.b=c.b+1
r=a.b
p.v=3.; r=p.v
vars(p)['_v']=3.; r=p.v
if x.sum()>0: vars(p)['_v']=p.v+1
else: p.v=9.
r=p.v
vars(net)['k']=net.k+1; r=other.k
if x.sum()>0: vars(net)['k']=5.
else: net.k=net.k+1
r=net.k
z=Shared(); z.b=z.b+1; r=z.b
z=Shared(); y=Shared(); z.b=z.b+1; r=y.b
z=Shared()
if x.sum()>0: z.b=z.b+1
r=Shared().b
one.b=4.; r=two.b
one.b=two.b+1; r=one.b
if x.sum()>0: one.b=two.b+1
else: two.b=7.
r=one.b+two.b
y=x
while y.sum()<9: one.b=two.b+1; y=y*2
r=one.b
def loss(v): one.b=two.b+1; return (v*one.b).sum()
r=ms.grad(loss)(x)*two.b
del one.b; r=hasattr(two,'b'); two.b=1."""
CHANGES = ("pass", "a.b=8.", "c=a", "d=vars(c)", "vars(a)['b']=8.", "other=net", "net.k=8.", "one.b=8.")


class Holder:
    def __init__(self):
        self.b, self.l = 1.0, [1.0, 2.0]


class Doubled:
    def __init__(self):
        self._v = 1.0

    @property
    def v(self):
        return self._v

    @v.setter
    def v(self, value):
        self._v = value * 2


class Shared:
    space: dict = {}

    def __init__(self):
        self.__dict__ = self.space


def fresh():
    a, net, other = Holder(), nn.Cell(), nn.Cell()
    net.k = other.k = 1.0
    Shared.space.clear()
    Shared.space["b"] = 1.0
    return {
        "ms": ms, "a": a, "c": Holder(), "d": vars(a), "p": Doubled(), "net": net, "other": other, "Holder": Holder,
        "Shared": Shared, "one": Shared(), "two": Shared(),
    }  # fmt: skip


def left(space):
    held = {name: vars(space[name]) for name in ("a", "c", "p", "one")}
    return plain(held | {"d": space["d"], "k": [space["net"].k, space["other"].k]})


@pytest.mark.parametrize("body", bodies(PROGRAMS))
def test_attribute_is_an_entry(body):
    source = f"def program(x):\n    global c, d, other\n    {body}\n    return x * r\n"
    for change in CHANGES:
        eager, graph = both(source, fresh, ["pass", change, change, "pass"], left)
        assert eager == graph, change
