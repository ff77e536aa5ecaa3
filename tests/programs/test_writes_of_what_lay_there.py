"""A compiled program writes at each call, also a value that lay there by chance; what it does not write it leaves as
somebody else left it. Objects that a program writes to may become one object, and come apart again."""

import collections

import pytest
from both_modes import bodies, both, plain

import msnb as ms
from msnb import nn

PROGRAMS = """o.update(u=3.); r=o['u']
o['u']=3.; r=o['u']
o.clear(); o['u']=3.; r=o['u']+len(o)
o.update(w=3.); r=o['u']+o['w']
o|={'u':3.}; r=o['u']
o.setdefault('w',3.); r=o['w']
o.pop('u',None); o['u']=3.; r=o['u']
for k in ('u','w'): o[k]=3.
r=o['u']+o['w']
o['u']=3.; r=sum(o.values())+len(str(o))
l[0]=3.; r=l[0]
l[-1]=3.; r=l[len(l)-1]
l[0:1]=[]; l.append(4.); r=l[0]
l[0:1]=[3.,4.]; r=l[2]; l.pop()
l.clear(); l.append(3.); l.append(2.); l.append(1.); r=l[0]
l[:]=[3.,2.,1.]; r=l[0]
l[0],l[1]=l[1],l[0]; r=l[0]
l[0]=K; r=l[0]
l[0]=3.; r=sum(l)+max(l)+l.index(3.)
d[0]=3.; r=d[0]
d.clear(); d.extend([3.,2.,1.]); r=d[0]
s.clear(); s.add(3.); s.add(1.); r=sum(s)
vars(a).update(b=3.); r=a.b
n['k'].update(u=3.); r=n['k']['u']+n['r'][0]
o.update(l=l); l[0]=3.; r=o['l'][0]
if x.sum()>0: o['u']=3.
r=o['u']
if x.sum()>0: l[0]=3.
r=l[0]
if x.sum()>0: l[0]=l[1]
r=l[0]+l[1]
if x.sum()<0: l.pop(); l.append(2.)
r=l[0]+l[-1]
l[0]=4.
if x.sum()>0: l.reverse()
r=l[0]+l[1]
l[0]=4.; y=x
while y.sum()<9: l[0]=3.; y=y*2
r=l[0]+l[1]
y=x
while y.sum()<9: a.l=[7.,a.l[0]]; y=y*2
r=a.l[0]+a.l[1]
if x.sum()>0: l.clear(); l.extend([5.,6.,7.]); t=l
else: t=[1.,2.,3.]
r=t[0]+t[2]
if x.sum()>0: q=l[:]; q[0]=5.; t=q
else: t=l
r=t[0]+t[1]
def loss(v): o.update(u=3.); l[0]=3.; return (v*o['u']).sum()
r=ms.grad(loss)(x)*o['u']*l[0]
def loss(v): o['u']=a.l[0]; return v.sum()
ms.grad(loss)(x); r=o['u']
a.l[0]=2.; a.l=l; r=l[0]
c.b=c.b+1; r=a.b
a.l[0]=a.l[0]+1; r=c.l[0]
other.k=other.k+1; r=net.k"""
CHANGES = (
    "pass", "o['u']=8.", "l[0]=8.", "l[1]=8.", "l[2]=8.", "d[0]=8.", "s.add(8.)", "a.b=8.", "a.l[1]=8.", "K=8.",
    "n['k']['u']=8.", "n['r'][0]=8.", "c=a", "c.l=a.l", "other=net", "a.l=l",
)  # fmt: skip


class Holder:
    def __init__(self):
        self.b, self.l = 1.0, [1.0, 2.0]


def fresh():
    net, other = nn.Cell(), nn.Cell()
    net.k = other.k = 1.0
    return {
        "ms": ms, "o": {"u": 1.0}, "l": [1.0, 2.0, 3.0], "d": collections.deque([1.0, 2.0, 3.0]), "s": {1.0}, "K": 2.0,
        "a": Holder(), "c": Holder(), "n": {"k": {"u": 1.0}, "r": [1.0, 2.0]}, "net": net, "other": other,
    }  # fmt: skip


def left(space):
    values = {name: space[name] for name in ("o", "l", "n", "K")} | {"d": list(space["d"]), "s": sorted(space["s"])}
    return plain(values | {"a": vars(space["a"]), "c": vars(space["c"]), "k": [space["net"].k, space["other"].k]})


@pytest.mark.parametrize("body", bodies(PROGRAMS))
def test_each_call_writes(body):
    source = f"def program(x):\n    global K, c, other\n    {body}\n    return x * r\n"
    for change in CHANGES:
        eager, graph = both(source, fresh, ["pass", change, change, "pass"], left)
        refused = next((i for i, (given, _) in enumerate(graph) if given == "CaptureError"), len(graph))  # other sizes
        assert refused > 1 and eager[:refused] == graph[:refused], (change, eager, graph)
