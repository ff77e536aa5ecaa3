"""Programs that use Python's syntax and standard library as other people do: Graph mode gives and does the same, on
three values of a tensor."""

import collections
import contextlib
import functools

import numpy as np
import pytest
from course_programs import PROGRAMS as OF_COURSES

import msnb as ms
from msnb import Tensor
from msnb.graph.capture import register_source

PROGRAMS = '''
w=6; s=f"{x.ndim!r:>{w}}|{3.14159:.{2}f}|{'a'!s:^5}|{w=}"; return x+len(s)
---
r=[y:=1, y**2, y+3]; return x*sum(r)
---
def f(a,/,b,*c,d=3,**e): return a+b*2+sum(c)*3+d*4+sum(e.values())*5
return x*f(1,2,3,4,d=5,z=6)+f(*[1,2],**{'d':7})
---
a,(b,*c),*d=1,(2,3,4),5,6; return x*a+b+sum(c)+sum(d)
---
for i in range(3):
    if i==5: break
else: x=x*2
while x.sum()<0:
    break
else: x=x+1
return x
---
try:
    try: raise ValueError('a')
    except ValueError as e: raise KeyError('b') from e
    finally: x=x*2
except KeyError as k: x=x+(1 if isinstance(k.__cause__,ValueError) else 5)
else: x=x*100
return x
---
try: [][1]
except (KeyError,IndexError) as e: n=len(str(e))
try: e
except NameError: n=n+1
return x*n
---
def g():
    v=yield 1
    try: yield v
    except ValueError: yield 9
    finally: LOG.append('c')
i=g(); a=next(i); b=i.send(5); c=i.throw(ValueError()); i.close()
return x*a+b+c
---
def g(n):
    if n: yield n; yield from g(n-1)
return x*sum(g(4))
---
@contextlib.contextmanager
def cm(v):
    LOG.append('in')
    try: yield v*2
    finally: LOG.append('out')
with cm(x) as a, cm(a) as b: r=b
with contextlib.suppress(KeyError): {}['a']
with contextlib.ExitStack() as st: q=st.enter_context(cm(r)); st.callback(LOG.append,'cb')
return q
---
class A:
    z=1
    def __init_subclass__(cls,k=1): cls.z=k
class B(A,k=5):
    def f(self): return [__class__.z for _ in range(2)]
    def s(self): return super().z
return x*B().f()[1]+B().s()
---
class D:
    def __get__(self,o,t): return 7
    def __set_name__(self,o,n): self.n=n
class E:
    d=D()
    __slots__=('q',)
e=E(); e.q=2
return x*e.d+e.q+len(type(e).__dict__['d'].n)
---
@functools.lru_cache(None)
def fib(n): return n if n<2 else fib(n-1)+fib(n-2)
@functools.singledispatch
def sd(a): return 1
@sd.register
def _(a:int): return 2
@sd.register(str)
def _(a): return 3
return x*fib(10)+sd(1)+sd('a')*10+sd(2.)*100
---
class C:
    @functools.cached_property
    def p(self): LOG.append('p'); return x*2
    @property
    def q(self): return self._q
    @q.setter
    def q(self,v): self._q=v*2
    @q.deleter
    def q(self): del self._q
    @staticmethod
    def s(a): return a+1
    @classmethod
    def c(cls,a): return cls.s(a)*2
c=C(); c.q=3; r=c.q; del c.q
return x*r+hasattr(c,'_q')+c.c(3)+C.s(2)
---
return x*(1<2<3)+(1<3<2)+(3 if not x.ndim else 4)+(1 in {1,2})+('a' not in 'abc')
---
d={'a':1,**{'b':2}}; d|={'c':3}; l=[*d,*d.values()]; t=(*l,); s={*t}
del d['a']; d['z']=x
return d['z']*len(l)+len(s)+sum(v for k,v in d.items() if k!='z')
---
m=[[1,2],[3,4]]; tr=[list(r) for r in zip(*m)]; fl=[q for r in m for q in r if q%2]
return x*sum(fl)+tr[0][1]+{k:v for k,v in enumerate('ab')}.get(1,'').__len__()
---
n=0
def inc():
    nonlocal n
    n+=1
    return n
r=[inc() for _ in range(3)]; fs=[lambda k=k: k*2 for k in range(3)]; gs=[lambda: j for j in range(3)]
return x*n+sum(f() for f in fs)+sum(g() for g in gs)
---
import dataclasses
@dataclasses.dataclass(order=True)
class Q:
    a:float
    b:list=dataclasses.field(default_factory=list)
    def __post_init__(self): self.c=self.a*2
q=Q(2.); p=dataclasses.replace(q,a=3.)
return x*q.c+p.c+(q<p)+len(dataclasses.asdict(p))
---
import enum
class F(enum.Flag):
    A=1; B=2
class N(enum.IntEnum):
    U=3
    @property
    def dbl(self): return self*2
return x*(F.A|F.B).value+N.U.dbl+N['U']+len(N)
---
import itertools, operator
P=collections.namedtuple('P','a b',defaults=[3]); p=P(1)
c=collections.Counter('abca'); dd=collections.defaultdict(list); dd['k'].append(2)
dq=collections.deque([1,2,3],maxlen=2); dq.append(5)
return x*p.b+c['a']+dd['k'][0]+sum(dq)+p._replace(a=9).a+[*itertools.accumulate([1])][0]+operator.itemgetter(1)([3,4])
---
s='%s-%05.1f-%d'%('a',2.5,3)+'{:>4}{k}'.format(1,k='z')+'x'.join(['1','2']); return x*len(s)+int('ff',16)+int(s[-1])
---
a=1; a<<=3; a^=5; a//=2; a**=2; a%=7; b=~a; c=a if a else b; z=(2+3j)*1j
return x*a+b+c+z.real+abs(z)+divmod(7,2)[1]+round(2.567,1)+pow(2,5,7)
---
x0=x
class V:
    def __init__(s,v): s.v=v
    def __add__(s,o): return V(s.v+(o.v if isinstance(o,V) else o))
    __radd__=__add__
    def __getitem__(s,k): return s.v*(k.stop if isinstance(k,slice) else k)
    def __iter__(s): yield s.v; yield 2
    def __call__(s,*a): return s.v+len(a)
    def __bool__(s): return False
    def __contains__(s,o): return o==1
    def __len__(s): return 4
    def __enter__(s): return s
    def __exit__(s,*a): LOG.append(a[0] is None); return True
    def __matmul__(s,o): return s.v*o
    def __neg__(s): return V(-s.v)
    def __format__(s,f): return f*2
    def __index__(s): return 1
v=sum([V(x),V(1)]); a,b=v
with v as w: raise ValueError
return v[3]+v[:2]+a+b+v(1,2)+(1 if v else 5)+(1 in v)+len(v)+(-v@2)+len(f"{v:ab}")+[5,6][v]
---
def outer():
    y=1
    def mid():
        nonlocal y
        def inn():
            nonlocal y
            y+=2
        inn(); y*=3
    mid()
    return y
return x*outer()
---
r=0
for i,(a,b) in enumerate(zip([1,2,3],(4,5,6)),1):
    if a==2: continue
    r+=i*a*b
for k in reversed(range(0,10,3)): r-=k
i=iter([1,2,3]); next(i); r+=sum(i); r+=next(i,7)
return x*r
---
l=[3,1,2]; l.sort(key=lambda v:-v); l[1:2]=[7,8]; l[::2]=[0,0]; del l[-1]; l.insert(1,9); l+=[x]
return l[-1]*sum(l[:-1])+l.index(9)+sorted(['b','a'],reverse=True)[0].__len__()+min([3,1],key=lambda v:-v)
---
assert x.ndim==0, f"bad {x.ndim}"
if (n:=x.ndim)==0 and (m:=n+1): x=x*m
return x if n<1 else x*2
---
g=(v*x for v in range(3) if v); t=tuple(g); return t[0]+t[1]+any(v>1 for v in [1,2])+all([])
---
def deco(k):
    def w(f):
        @functools.wraps(f)
        def i(*a,**b): return f(*a,**b)*k
        return i
    return w
@deco(3)
@deco(2)
def h(a,*,b=1): "doc"; return a+b
return h(x,b=2)+len(h.__name__)+len(h.__doc__)
---
def r(n): return 1 if n==0 else n*r(n-1)
Y=lambda f:(lambda s:s(s))(lambda s:f(lambda n:s(s)(n)))
return x*r(4)+Y(lambda f:lambda n:1 if n==0 else n+f(n-1))(3)
---
from typing import NamedTuple, TypedDict, cast, Optional
class T(NamedTuple):
    a:int
    b:float=2.
    def s(self): return self.a+self.b
class U(TypedDict): k:int
u:U={'k':3}; v:Optional[int]=None
return x*T(1).s()+u['k']+cast(int,4)+(v or 5)
---
lst=[]
def f(a,acc=[]): acc.append(a); return len(acc)
return x*f(1)+f(2)*10
---
b=b'ab'; return x*b[0]+len(b.hex())+int.from_bytes(b,'big')%7+'ab'.encode()[1]+ord('a')+len(chr(98))
---
import math
return x*math.floor(2.7)+math.hypot(3,4)+math.comb(5,2)+math.isclose(1,1.)+(math.inf>1)
---
d=dict(zip('ab',[x,2]));k,v=next(iter(d.items())); d.update(c=3)
p=d.pop('b'); q=d.setdefault('e',4); return v*p+q+len(d)+(list(d)[0]==k)
---
s=set([1,2,2]); s.add(3); s-={1}; f=frozenset(s); return x*len(s)+sum(f)+({1}<={1,2})+len(s&{2})
---
import types
ns=types.SimpleNamespace(a=x,b=2); ns.c=ns.a*ns.b; return ns.c+len(vars(ns))
---
def f():
    try: return 1
    finally: LOG.append('f')
def g():
    for i in range(3):
        try:
            if i==1: continue
            if i==2: break
        finally: LOG.append(i)
    return 5
return x*f()+g()
---
return x[...]*1+x[None][0]+x.reshape(1,1)[0,-1]+x.reshape(1)[::1].sum()
---
exec("q=3"); return x
---
return x*eval("2+1")+eval("x*2")
---
z: int = 3
(y) = z
del z
try: z
except UnboundLocalError: y=y+1
return x*y
---
def gen():
    r = yield
    return 5
def g2():
    v = yield from gen()
    LOG.append(v)
    yield v
i=g2(); next(i)
return x*i.send(None)
---
a=b=c=[1]; a.append(x); return c[1]*len(b)+(a is c)
---
return (lambda *a,**k: a[0]*len(k))(x,p=1,q=2)
---
if x>1: f=lambda v:v*2
else: f=lambda v:v*3
return f(x)
---
k=3 if x>1 else 4
return x*k+[10,20,30,40,50][k]
---
l=[]
while len(l)<3: l.append(x*len(l))
return sum(l)
---
i=0
while x<50:
    x=x*2; i+=1
    if i>3: break
return x+i
---
r=[x*i for i in range(4) if i%2==0]; return ms.ops.stack(r).sum()
---
import copy
a={'k':[x,{'z':1}]}; b=copy.deepcopy(a); b['k'][1]['z']=5; c=copy.copy(a); c['k'].append(1)
return x*a['k'][1]['z']+b['k'][1]['z']+len(a['k'])
---
class M(type):
    def __call__(c,*a): o=super().__call__(*a); o.k=4; return o
    def __len__(c): return 7
    def __getitem__(c,i): return i*2
    def __iter__(c): return iter([1,2])
class K(metaclass=M): pass
return x*K().k+len(K)+K[3]+sum(K)
---
class G:
    def __class_getitem__(c,i): return i
return x*G[3]
---
from collections.abc import Iterable
import numbers
return x*isinstance([1],Iterable)+isinstance(3,numbers.Number)+issubclass(bool,int)+callable(len)
---
def f(n):
    while True:
        n+=1
        if n>5: return n
return x*f(0)
---
for i in range(3): pass
return x*i
---
r=0
for a in [1,2]:
    for b in [3,4]:
        if b==4: break
        r+=a*b
    else: r+=100
return x*r
---
return x*sum(map(lambda a,b:a*b,[1,2],[3,4]))+sum(filter(None,[0,1,2]))
---
s="a,b;c"; import re
return x*len(re.split('[,;]',s))+len(s.split(','))+s.find('b')+s.startswith('a')+len(s.title().swapcase())
---
class Base:
    def f(self): return 1
class L(Base):
    def f(self): return super().f()+10
class R(Base):
    def f(self): return super().f()+100
class Z(L,R):
    def f(self): return super().f()+1000
return x*Z().f()+len(Z.__mro__)
---
class E1(Exception):
    def __init__(s,c): super().__init__('m'); s.c=c
try: raise E1(5)
except E1 as e: r=e.c+len(e.args)
return x*r
---
try:
    if x>1: r=x*2
    else: r=x*3
except ValueError: r=x
else: r=r+1
finally: r=r*2
return r
---
global GG
GG=5
return x*GG
---
x+=1; x-=0.5; x*=3; x/=2; x**=2; x//=1; x%=5
return x
---
y=x.reshape(1).copy(); y[0]=3; y[:]+=2; return y.sum()
---
class P:
    z=2
    def n(self): return __class__.z
    def m(self): return (lambda: __class__.z)()
return x*P().n()+P().m()
---
class M(type):
    def __call__(c,*a): o=super().__call__(*a); o.k=4; return o
class K(metaclass=M): pass
return x*K().k
---
@functools.total_ordering
class A:
    def __init__(s,v): s.v=v
    def __lt__(s,p): LOG.append('lt'); return s.v<p.v
    def __eq__(s,p): LOG.append('eq'); return s.v==p.v
return x*(A(3)>=A(2))+(A(1)>A(2))
---
with contextlib.ExitStack() as st:
    st.callback(LOG.append,'cb'); st.push(lambda *a: LOG.append('p')); y=x*2
return y
---
def g(a: int, *b: 'text', c: float = 1) -> None: return 3
return x*len(g.__annotations__)+g(1)
---
class P:
    def f(self, x, __k=2):
        global __g
        __g=3
        def __h(__z): return __z*2
        for __i in range(2): x=x+__i
        return x*__h(__k)*__g+[__a*2 for __a in [1,2]][0]
return P().f(x)
---
@functools.total_ordering
class A:
    def __init__(s,v): s.v=v
    def __lt__(s,p): return s.v<p.v
    def __eq__(s,p): return s.v==p.v
return x*3+(1. if A(x)<=A(x*2) else 5.)+max([3,1],default=4)
'''.strip().split("\n---\n")  # fmt: skip
PROGRAMS += OF_COURSES
SPACE = {"collections": collections, "contextlib": contextlib, "functools": functools, "np": np, "ms": ms}


def outcomes(mode, number):
    """What three calls give, raise and log."""
    ms.set_context(mode=mode)
    text = "def f(x):\n    " + PROGRAMS[number].replace("\n", "\n    ")
    file = f"<program {number} {mode}>"
    register_source(file, text)
    space = {**SPACE, "LOG": []}
    exec(compile(text, file, "exec"), space)
    called = ms.jit(space["f"], fullgraph=True) if mode == ms.GRAPH_MODE else space["f"]
    found = []
    for value in (2, 0.5, -3):
        given = np.asarray(called(Tensor(np.float32(value)))).tolist()
        found.append((given, list(space["LOG"])))
        space["LOG"].clear()
    return found


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_both_modes(number):
    eager, graph = (outcomes(mode, number) for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE))
    np.testing.assert_equal(graph, eager, PROGRAMS[number])
