"""Programs of ``test_python_features``: what courses and libraries write."""

PROGRAMS = '''
import itertools as it
a=list(it.chain([1],[2,3])); b=list(it.product('ab',[1,2])); c=[*it.combinations(a,2)]
d=[(k,len(list(g))) for k,g in it.groupby('aabbb')]
e=list(it.islice(it.cycle([1,2]),5)); f=[*it.zip_longest([1],[2,3],fillvalue=0)]; g=[*it.takewhile(lambda v:v<3,a)]
h=list(it.pairwise(a))
return x*len(b)+len(c)+d[1][1]+sum(e)+f[1][0]+sum(g)+h[0][1]+sum(it.accumulate(a,lambda p,q:p*q))
---
import functools
f=functools.partial(lambda a,b,c=0:a*b+c,x,c=1); g=functools.reduce(lambda a,b:a*b,[1,2,x]); return f(3)+g
---
class Stack:
    def __init__(self): self.items=[]
    def push(self,v): self.items.append(v); return self
    def pop(self): return self.items.pop()
    def __len__(self): return len(self.items)
    def __repr__(self): return f"Stack({len(self)})"
s=Stack().push(x).push(2).push(3)
return s.pop()*s.pop()*s.items[0]+len(s)+len(repr(s))
---
class Node:
    def __init__(self,v,n=None): self.v,self.n=v,n
l=None
for i in range(4): l=Node(x*i,l)
t=0
while l is not None: t=t+l.v; l=l.n
return t
---
class Tree:
    def __init__(s,v,k=()): s.v=v; s.k=list(k)
    def walk(s):
        yield s.v
        for c in s.k: yield from c.walk()
return sum(Tree(x,[Tree(1),Tree(2,[Tree(x)])]).walk())
---
from abc import ABC, abstractmethod
class A(ABC):
    @property
    @abstractmethod
    def p(self): ...
    @classmethod
    def make(cls): return cls()
class B(A):
    p=x*2
try: A()
except TypeError: r=1
return B.make().p+r
---
def memo(f):
    c={}
    def g(n):
        if n not in c: c[n]=f(n)
        return c[n]
    g.cache=c
    return g
@memo
def fib(n): return n if n<2 else fib(n-1)+fib(n-2)
return x*fib(12)+len(fib.cache)
---
import string, textwrap
t=string.Template('$a b').substitute(a=1); u=textwrap.dedent(' a').strip(); return x*len(t)+len(u)+len(string.digits)
---
import datetime, decimal, fractions
d=datetime.timedelta(days=1).total_seconds(); f=fractions.Fraction(1,2)+1; z=decimal.Decimal('1.5')*2
return x*float(f)+float(z)+d/86400
---
import json
s=json.dumps({'a':[1,2,{'b':None}]}); d=json.loads(s); return x*d['a'][1]+len(s)
---
import re
m=re.match(r'(\\d+)-(?P<n>\\w+)','12-ab')
return x*int(m.group(1))+len(m['n'])+len(re.sub('a',lambda k:'bb','aa'))+len(re.findall('a','aba'))
---
import os.path, pathlib
return x*len(os.path.join('a','b'))+len(pathlib.Path('a/b.txt').suffix)
---
import uuid, hashlib, base64, struct
return x*len(hashlib.md5(b'a').hexdigest())+len(base64.b64encode(b'ab'))+struct.unpack('<i',struct.pack('<i',5))[0]
---
import bisect, heapq
h=[3,1,2]; heapq.heapify(h); k=heapq.heappop(h); return x*k+bisect.bisect([1,3,5],4)+heapq.nlargest(1,[1,9])[0]
---
import statistics, cmath
return x*statistics.mean([1,2,3])+abs(cmath.exp(0))+statistics.median([1,5,3])
---
import inspect
def f(a,b=2): return a+b
return x*len(inspect.signature(f).parameters)+f(1)
---
import warnings
with warnings.catch_warnings():
    warnings.simplefilter('ignore'); warnings.warn('x')
return x*2
---
import warnings
with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter('always')
    warnings.warn('a'); warnings.warn('b',DeprecationWarning)
return x*len(w)+(w[1].category is DeprecationWarning)+len(str(w[0].message))
---
import time
t=time.perf_counter(); return x*(1 if time.perf_counter()>=t else 2)
---
import logging
logging.getLogger('q').debug('a %s',x.shape); return x*2
---
a=np.array([1.,2.,3.],np.float32); return x*a.sum()+a[1:].mean()+np.arange(3)[-1]+float(np.sqrt(4.))
---
a=np.zeros((2,2),np.float32); a[0]=3; a+=1; return (ms.Tensor(a)*x).sum()
---
m=ms.Tensor([[1.,2.],[3.,4.]])*x; r=[row.sum() for row in m]; return r[0]+r[1]+m[0,1]+m[:,0].sum()+m.T[1,0]
---
for i,row in enumerate(ms.Tensor([[1.,2.],[3.,4.]])): x=x+row[i]*i
return x
---
a,b=ms.Tensor([1.,2.]); return x*a+b
---
return x*len(ms.Tensor([1.,2.,3.]))+ms.Tensor([1.,2.]).shape[0]+max(ms.Tensor([1.,5.]))
---
y=ms.ops.zeros(3); y[1]=x; y[0:1]+=2; return y.sum()+(y>0).sum()
---
p=ms.Parameter(ms.Tensor([1.,2.])); return (p*x).sum()
---
def g(w): return (w*x).sum()
return ms.grad(g)(ms.Tensor([1.,2.])).sum()
---
f=ms.vmap(lambda a: a*2+x); return f(ms.Tensor([1.,2.])).sum()
---
class Net(ms.nn.Cell):
    def __init__(self): super().__init__(); self.w=ms.Parameter(ms.Tensor(2.),name='w')
    def construct(self,v): return v*self.w
n=Net(); return n(x)+len(list(n.get_parameters()))
---
l=[]
for i in range(3):
    def f(v,i=i): return v*i
    l.append(f)
return l[2](x)+l[1](x)
---
d={}
for w in 'the cat the dog'.split(): d[w]=d.get(w,0)+1
s=sorted(d.items(),key=lambda t:(-t[1],t[0])); return x*s[0][1]+len(s)
---
def f(*,a,**k): return a+len(k)
return x*f(a=1,**{'b':2,'c':3})
---
def g():
    try:
        yield 1
        yield 2
    except GeneratorExit:
        LOG.append('ge'); raise
    finally: LOG.append('fin')
for v in g(): break
r=v
it=g(); next(it); it.close()
return x*r
---
class CM:
    def __enter__(s): LOG.append('e'); return s
    def __exit__(s,t,v,tb): LOG.append(t.__name__ if t else None); return t is KeyError
with CM(): raise KeyError
try:
    with CM(): raise ValueError
except ValueError: r=2
return x*r
---
def f(n):
    if n==0: raise ValueError('end')
    return f(n-1)
try: f(3)
except ValueError as e: r=len(e.args[0])
return x*r
---
x,y=x*2,x*3
x,y=y,x
(x,),[y]=(x,),[y]
return x-y
---
l=[[0]*2 for _ in range(2)]; l[0][1]=x; l[1][0]=2; return l[0][1]*l[1][0]+sum(map(sum,[[1],[2]]))
---
t=1,2,3; a,*_=t; *_,b=t; return x*a+b+t[-1]+t[::-1][0]+(4 in t)
---
s='héllo'; return x*len(s.encode())+ord(s[1])+('%c'%97=='a')+len(s.center(9,'*'))+s.isalpha()+len(s.partition('l'))
---
return x*(lambda: (yield))().__class__.__name__.__len__()
---
import collections
class D(dict):
    def __missing__(s,k): s[k]=len(s); return s[k]
d=D(); d['a'],d['b']; od=collections.OrderedDict(a=1,b=2); od.move_to_end('a')
return x*d['b']+list(od)[0].__len__()+d['zz']
---
class A:
    count=0
    def __init__(self): type(self).count+=1; A.last=self
a=A();b=A(); return x*A.count+(A.last is b)
---
class W:
    def __init__(s,o): s._o=o
    def __getattr__(s,n): return getattr(s._o,n)
    def __dir__(s): return ['a']
w=W([1,2]); w.append(3); return x*len(w._o)+len(dir(w))
---
class Vec:
    __slots__='a','b'
    def __init__(s,a,b): s.a=a; s.b=b
    def __iter__(s): return iter((s.a,s.b))
    def __eq__(s,o): return tuple(s)==tuple(o)
    def __hash__(s): return hash(tuple(s))
    def __mul__(s,k): return Vec(s.a*k,s.b*k)
    __rmul__=__mul__
    def __abs__(s): return (s.a**2+s.b**2)**0.5
v=2*Vec(3,4); return x*abs(v)+len({Vec(1,2),Vec(1,2)})+(Vec(1,2)==Vec(1,2))
---
def f(a:'int'=1,/,*,b:float=2)->'str': return a+b
return x*f(b=3)+len(f.__annotations__)+f.__kwdefaults__['b']+f.__defaults__[0]
---
print('a',x.shape,sep='-',end='!'); return x
---
v=[1,2,3]; v[0],v[1]=v[1],v[0]; i=0; i,v[i]=2,9; return x*v[0]+v[2]*10+v[1]
---
n=5; r=0
while n: n-=1; r+=n if n%2 else -n
return x*r
---
def outer():
    for i in range(10):
        for j in range(10):
            if i*j==42: return i,j
a,b=outer(); return x*a+b
---
f=lambda n: n and n*f(n-1) or 1
return x*f(5)
---
return x*sum(1 for c in "mississippi" if c in {'s','p'})+len({c for c in "abca"})+len({c:1 for c in "ab"})
---
a=[1,2,3]; b=a; b+=[4]; c=a[:]; c.append(5); return x*len(a)+len(c)+(a is b)
---
import copy
class N:
    def __init__(s): s.l=[1]
    def __copy__(s): LOG.append('cp'); n=N(); n.l=s.l; return n
    def __deepcopy__(s,m): LOG.append('dc'); return N()
a=N(); b=copy.copy(a); c=copy.deepcopy(a); b.l.append(2); return x*len(a.l)+len(c.l)
---
class L(list):
    def append(s,v): super().append(v*2)
    @property
    def last(s): return s[-1]
l=L([1]); l.append(x); l.extend([3]); return l[1]+l.last+len(l)
---
class S(str):
    def twice(s): return s+s
class I(int):
    def __add__(s,o): return I(int(s)+o+100)
class F(float): pass
return x*len(S('ab').twice())+(I(3)+4)+F(2.5)
---
import numbers, operator
return x*operator.add(1,2)+operator.mul(x,2)+operator.getitem([1,5],1)+operator.truediv(1,2)+operator.neg(3)
---
assert isinstance(x,ms.Tensor) and not isinstance(x,(list,tuple)); return x*(1 if type(x) is ms.Tensor else 2)
---
r=x
for k in [2,3]:
    try:
        if k==2: continue
        r=r*k
    finally: r=r+1
return r
---
return (x if x>0 else -x)+abs(x)+max(x,1)+min(x,0)+round(float(3.3))+sum([x,x])
---
y=x
if x>0 and (z:=x*2)>1 or x<-2: y=x*5
return y
---
y=0
for i in range(3):
    if x>i: y=y+i*x
    elif x<-i: y=y-1
    else: y=y+100
return y
---
l=[x,x*2]
if x>0: l.append(x*3)
else: l.append(x*4)
return l[-1]+len(l)
---
d={'a':x}
if x>0: d['a']=x*3
else: d['a']=d['a']*4
return d['a']
---
def f(v):
    if v>10: return v
    return f(v*2+3)
return f(abs(x))
---
i=0; acc=x*0
while i<x: acc=acc+i; i=i+1
return acc
---
for i in range(int(abs(x))+1): x=x+i
return x
---
c=x>0
return ms.ops.where(c,x,x*2)+(not c)*1.0+(c & (x<5))*2.0
---
r=x
while True:
    r=r+1
    if r>7: break
return r
---
def f(a,b): return a if a>b else b
return f(x,ms.Tensor(1.))+f(2,1)
---
k=0
def cb(v):
    nonlocal k
    k+=1
    return v*k
return sum(map(cb,[x,x,x]))
---
return x if x>0 else x*2 if x<-1 else x*3
---
a=[x]*3; a[1]=a[1]*2; return sum(a)
---
return x.reshape((1,1)).squeeze().expand_dims(0).sum(axis=0).astype(ms.float32)
---
s=0
for a,b in {'p':1,'q':2}.items(): s+=b*len(a)
for c in reversed('abc'): s+=ord(c)-96
return x*s
---
from dataclasses import dataclass, field, astuple
@dataclass(frozen=True, slots=True)
class P:
    a: float
    b: float = 2.
    def s(self): return self.a*self.b
p=P(x);
try: p.a=3
except Exception as e: LOG.append(type(e).__name__)
return p.s()+len(astuple(P(1.)))
---
import enum
class C(enum.Enum):
    A=enum.auto(); B=enum.auto()
    @classmethod
    def d(cls): return cls.A
    def __str__(s): return 'c'
return x*C.d().value+len(str(C.B))+(C['B'] is C(2))+len([*C])
---
import contextvars
v=contextvars.ContextVar('v',default=3); return x*v.get()
---
import types
m=types.MappingProxyType({'a':2}); return x*m['a']
---
import weakref
class A: pass
a=A(); r=weakref.ref(a); return x*(r() is a)
---
import threading
l=threading.Lock()
with l: y=x*2
return y
---
import typing
T=typing.TypeVar('T')
class G(typing.Generic[T]):
    def __init__(s,v:T): s.v=v
return G[int](3).v*x
---
import typing
class Pr(typing.Protocol):
    def f(self): ...
class Im:
    def f(self): return 2
return x*Im().f()
---
class A:
    k=0
if x>1: A.k=5
else: A.k=x
A.j=3
return x*A.k+A().k+A.j
---
class A:
    k=0
class B(A): pass
i=x*0
while i<3: A.k=A.k+i; i=i+1
return x*B.k+B().k
---
class A:
    reg=[]
    def __init_subclass__(c): A.reg.append(c); c.z=len(A.reg)
class B(A): pass
class C(A): pass
A.reg.append(3)
return x*C.z+len(A.reg)
---
class A:
    v=x
    def f(self): return self.v*2
LOG.append(A)
a=A(); a.q=A.v
del A.v
A.v=x*3
LOG[:]=[float(LOG[-1].v)]
return a.f()+a.q
---
class A:
    @staticmethod
    def s(v): A.cache[v]=A.cache.get(v,0)+1; return A.cache[v]
    cache={}
    @classmethod
    def c(cls,v): cls.t=v; return cls.s(1)+cls.t
setattr(A,'dyn',lambda self: 4)
return x*A.s(1)+A.c(2)+A.s(1)+A().dyn()
'''.strip().split("\n---\n")  # fmt: skip
