"""Classes of two features each, and statements over an object of such a class.

FEATURES      a name, what the class is derived from or made by, and its body
EXPRESSIONS   what is read of an object ``o`` (``o2`` is another one, ``K`` the class)
STATEMENTS    what is done with it; ``r`` is the result
"""

import abc
import collections
import contextlib
import copy
import dataclasses
import functools
import operator
import typing

import msnb as ms
from msnb import Tensor, nn, ops

LOG = []
FEATURES = """
slots
    __slots__=('a','b','store','_p','_d','__dict__','__weakref__')
pureslots
    __slots__=('a','b','store','_p','_d','_n')
getattribute
    def __getattribute__(self,n):
        v=object.__getattribute__(self,n)
        return v*10 if n in('a','cp') else v
getattribute_super
    def __getattribute__(self,n):
        return super().__getattribute__(n)
getattr
    def __getattr__(self,n):
        if n.startswith('_'): raise AttributeError(n)
        LOG.append('getattr '+n)
        return 7.0
getattr_inner
    def __getattr__(self,n):
        if n in('store','_p','_d') or n.startswith('__'): raise AttributeError(n)
        return getattr(self.store,n)
setattr
    def __setattr__(self,n,v):
        LOG.append('set '+n)
        object.__setattr__(self,n,v)
setattr_super
    def __setattr__(self,n,v):
        super().__setattr__(n,v)
        LOG.append('set '+n)
setattr_scale
    def __setattr__(self,n,v):
        super().__setattr__(n,v*2 if n=='b' else v)
delattr
    def __delattr__(self,n):
        LOG.append('del '+n)
        object.__delattr__(self,n)
property
    @property
    def p(self): return self._p
    @p.setter
    def p(self,v):
        LOG.append('p')
        self._p=v+1
property_a
    @property
    def a(self): return self._p
    @a.setter
    def a(self,v):
        self._p=v
    @a.deleter
    def a(self): self._p=0.5
cached
    @functools.cached_property
    def cp(self):
        LOG.append('cp')
        return self.a*2
descriptor
    d=Desc()
lazydesc
    z=Lazy()
dataclass @dataclasses.dataclass
    q: float=3.0
    r: list=dataclasses.field(default_factory=list)
list list
dict dict
    def __missing__(self,k):
        self[k]=5.0
        return 5.0
float float
cell nn.Cell
    def construct(self,x): return x*self.a
metacall metaclass=MetaCall
metaprop metaclass=MetaProp
metagetattr metaclass=MetaGet
singleton
    _one=None
    def __new__(cls,*a):
        if cls._one is None: cls._one=object.__new__(cls)
        return cls._one
call
    def __call__(self,x):
        self.a=self.a+1
        return x*self.a
len
    def __len__(self): return len(self.store)
    def __bool__(self): return bool(self.a>100)
iter
    def __iter__(self): return iter(self.store)
getitem
    def __getitem__(self,k): return self.store[k]
    def __setitem__(self,k,v): self.store[k]=v
    def __delitem__(self,k): del self.store[k]
contains
    def __contains__(self,k):
        LOG.append('in')
        return k in self.store
eq
    def __eq__(self,o):
        LOG.append('eq')
        return self.a==getattr(o,'a',None)
    def __hash__(self): return 5
order
    def __lt__(self,o): return self.a<o.a
    def __gt__(self,o): return self.a>o.a
arith
    def __add__(self,o): return self.a+o
    def __radd__(self,o): return o+self.a
    def __mul__(self,o): return self.a*o
    def __rmul__(self,o): return o*self.a
    def __neg__(self): return -self.a
iadd
    def __iadd__(self,o):
        self.a=self.a+o
        return self
conv
    def __int__(self): return int(self.a)
    def __float__(self): return float(self.a)
    def __index__(self): return 1
with
    def __enter__(self):
        self.a=self.a+1
        return self
    def __exit__(self,*e):
        self.a=self.a-0.5
        return True
classmethod
    n=2.0
    @classmethod
    def cm(cls): return cls.n
    @staticmethod
    def sm(v): return v+1
counter
    count=0
    def tick(self):
        type(self).count=type(self).count+1
        return self.count
copy
    def __copy__(self):
        o=type(self).__new__(type(self))
        o.a=self.a+1;o.b=self.b;o.store=self.store
        return o
repr
    def __repr__(self): return 'R%s'%self.a
    def __str__(self): return 'S%s'%self.a
    def __format__(self,s): return 'F%s'%self.a
generic typing.Generic[T]
abc abc.ABC
    def am(self): return 1
partialmethod
    def base(self,k): return self.a*k
    pm=functools.partialmethod(base,3)
dispatch
    @functools.singledispatchmethod
    def sd(self,v): return self.a
    @sd.register
    def _(self,v:int): return self.a+v
contextm
    @contextlib.contextmanager
    def cm2(self):
        self.a=self.a*2
        yield self.b
        self.a=self.a/2
decorated
    @wrapped
    def w(self,k): return self.a+k
closure
    fs=[lambda self,i=i: self.a*i for i in range(3)]
reduce
    def __reduce__(self): return (type(self),())
dir
    def __dir__(self): return ['a','b']
tuple tuple
set set
int int
ddict collections.defaultdict
userdict collections.UserDict
ordered collections.OrderedDict
deque collections.deque
exception Exception
mapping collections.abc.Mapping
    def __getitem__(self,k): return {'u':self.a,'v':self.b}[k]
    def __iter__(self): return iter(['u','v'])
    def __len__(self): return 2
sequence collections.abc.Sequence
    def __getitem__(self,k): return self.store[k]
    def __len__(self): return len(self.store)
"""
EXPRESSIONS = """
o.a ~ o.b ~ o.p ~ o.cp ~ o.d ~ o.z ~ o.zz ~ o.q ~ o.n ~ o.count ~ o.tick() ~ o.cm() ~ o.sm(2.) ~ o.w(1.)
o.pm() ~ o.sd(1) ~ o.sd(1.) ~ o.fs[2](o) ~ o.r.append(1.) or len(o.r) ~ o[0] ~ o['u'] ~ o.get('u',3.) ~ len(o)
bool(o) ~ not o ~ (2. if o else 3.) ~ 1. in o ~ sum(o) ~ [v for v in o][0] ~ o+1. ~ 1.+o ~ o*2. ~ 2.*o ~ -o
float(o) ~ int(o) ~ o==o2 ~ o!=o2 ~ o<o2 ~ max([o,o2]).a ~ sorted([o2,o])[0].a ~ o in [o2] ~ [o2].index(o)
{o:2.}[o] ~ len(str(o)) ~ len(repr(o)) ~ len(f'{o}') ~ len(f'{o.a:.2f}') ~ copy.copy(o).a
copy.deepcopy(o).a ~ K().a ~ type(o).n ~ isinstance(o,K)*1. ~ issubclass(K,list)*1. ~ hasattr(o,'a')*1.
hasattr(o,'nope')*1. ~ getattr(o,'a') ~ getattr(o,'nope',4.) ~ vars(o)['a'] ~ o.__dict__['b'] ~ len(vars(o))
operator.attrgetter('a')(o) ~ getattr(K,'n',1.) ~ o.store.append(2.) or len(o.store) ~ o.store[0]
o.append(2.) or len(o) ~ o.pop() ~ o.setdefault('u',2.) ~ list(map(lambda v:v*2,o))[0] ~ dict(o)['u']
list(o)[-1] ~ tuple(o)[0] ~ o(1.) ~ o(x) ~ o.construct(x) ~ o.index(1.) ~ o.count(1.) ~ list(zip(o,o))[0][1]
list(enumerate(o))[0][1] ~ list(reversed(o))[0] ~ min(o) ~ any(o) ~ all(v for v in o) ~ max(o,default=1.)
o.__class__.__name__=='K' and 1. ~ o.__len__() ~ o.__eq__(o2) and 1. ~ K.__mro__[1].__name__=='object' and 1.
object.__getattribute__(o,'a') ~ dataclasses.replace(o,q=4.).q ~ dataclasses.asdict(o)['q']
dataclasses.astuple(o)[0] ~ len(dataclasses.fields(o)) ~ (o,)[0].a ~ [o][-1].b ~ {'o':o}['o'].a
functools.reduce(lambda s,v:s+v,o,0.) ~ (lambda: o.a)() ~ next(iter(o)) ~ isinstance(o,(list,dict))*1.
callable(o)*1. ~ id(o)==id(o) ~ o is o2 ~ len(o.__dict__) ~ type(o)().b ~ super(K,o).__getattribute__('a') ~ K.a
K.count ~ o.args ~ o.u ~ list(o.keys())[0] ~ sum(o.values()) ~ [k for k,v in o.items()]and 1.
[*o][0] ~ (lambda *a:a[0])(*o)
"""
STATEMENTS = """
o.a=o.a+1; r=o.a ~ o.a+=x.sum(); r=o.a ~ o.b=o.b*1.5; r=o.b ~ o.p=o.a; r=o.p ~ o.d=o.a; r=o.d ~ o.new=x; r=o.new
o.new=2.; r=o.new+hasattr(o,'new') ~ del o.a; r=hasattr(o,'a')*1.; o.a=1.5 ~ del o.d; r=1. ~ del o.cp; r=1.
setattr(o,'a',3.); r=o.a ~ o.store=[o.a]; r=o.store[0] ~ o.store.append(o.a); r=sum(o.store) ~ o[0]=o.a; r=o[0]
o['u']=o.a; r=o['u'] ~ del o[0]; r=1. ~ o+=2.; r=o.a ~ type(o).n=getattr(o,'n',0.)+1; r=K.n
K.count=K.count+1; r=o.count ~ o.z=4.; r=o.z ~ with o as e: r=e.a ~ with o as e: raise ValueError('x')
with o.cm2() as e: r=e+o.a ~ for v in o: r=v ~ for v in o: o.b=v ~ a,*b=o; r=a ~ p=o; p.a=9.; r=o.a
r=ms.grad(lambda v:(v*o.a).sum())(x) ~ r=ms.vmap(lambda v:v*o.a+o.b)(x) ~ r=ms.jvp(lambda v:v*o.a,x,x)[1]
o.b=o; r=o.b.a ~ o.b=[o.a,x]; r=o.b[1]*o.b[0] ~ o.b=lambda:o.a; r=o.b() ~ o.b=K(); o.b.a=2.; r=o.b.a
o.extend([1.,2.]) ; r=len(o) ~ o.update(u=3.); r=o['u'] ~ o.insert(0,4.); r=o[0] ~ o.clear(); r=len(o)
o.b,o.a=o.a,o.b; r=o.a ~ [o.a for o in [o,o2]]; r=o.a ~ o2.a=o.a; r=o2.a ~ r=J(x,o)
r=(x*o.a).sum()+ops.reduce_sum(x*o.b) ~ r=o.a if o.a>2 else o.b ~ r=float(o.a)+int(o.b) ~ r=Tensor([o.a,o.b])
r=o ~ r=[o,x] ~ r={'a':o.a}
"""
BLOCKS = """
try: raise o
except Exception as e: r=e.a

try: o.nope
except AttributeError: r=2.

match o:
    case K(a=v): r=v

match o:
    case {'u':v}: r=v
    case [v,*_]: r=v
    case _: r=0.5

def g(k): k.a=k.a+1; return k.a
r=g(o)+g(o)

if x.sum()>0: r=x*o.a
else: r=x*o.b

if x.sum()>0: o.a=o.a+1
else: o.b=3.
r=o.a+o.b

if x.sum()>2.5: o.a=x.sum()
r=o.a

i=0
while i<3: o.a=o.a+1; i=i+1
r=o.a

y=x
while y.sum()<20: y=y*2+o.b
r=y

def l(v): o.a=o.a+1; return (v*o.a).sum()
r=ms.grad(l)(x)

global G
G=o; r=G.a
"""
PRELUDE = """
T=typing.TypeVar("T")
class Desc:
    def __get__(self,o,k=None):
        if o is None: return self
        LOG.append('dget'); return getattr(o,'_d',1.)*2
    def __set__(self,o,v): LOG.append('dset'); o._d=v
    def __delete__(self,o): LOG.append('ddel'); o._d=0.25
class Lazy:
    def __get__(self,o,k=None):
        LOG.append('lazy')
        return 6.0 if o is None else o.b*3
class MetaCall(type):
    def __call__(cls,*a,**k):
        LOG.append('mcall')
        return super().__call__(*a,**k)
class MetaProp(type):
    @property
    def mp(cls): return cls.__dict__.get('n',3.)
class MetaGet(type):
    def __getattr__(cls,n):
        if n.startswith('_'): raise AttributeError(n)
        return 11.0
def wrapped(fn):
    @functools.wraps(fn)
    def inner(self,*a):
        LOG.append('w')
        return fn(self,*a)*2
    return inner
"""
FILL = {
    "list": "o.extend([1.,2.])", "dict": "o['u']=1.", "collections.UserDict": "o['u']=1.",
    "collections.OrderedDict": "o['u']=1.", "collections.deque": "o.extend([1.,2.])",
}  # fmt: skip
NAMES = {
    "abc": abc, "collections": collections, "contextlib": contextlib, "copy": copy, "dataclasses": dataclasses,
    "functools": functools, "operator": operator, "typing": typing, "ms": ms, "Tensor": Tensor, "nn": nn, "ops": ops,
    "LOG": LOG, "__name__": "__main__",
}  # fmt: skip


def _features():
    found, name = {}, ""
    for line in FEATURES.strip("\n").split("\n"):
        if line.startswith(" "):
            found[name][1].append(line)
        elif line:
            name, *made = line.split()
            found[name] = (made, [])
    return found


KINDS = _features()


def statements():
    read, done = ([row for line in table.strip().split("\n") for row in line.split(" ~ ")]
                  for table in (EXPRESSIONS, STATEMENTS))  # fmt: skip
    return [*(f"r = {row}" for row in read), *done, *BLOCKS.strip().split("\n\n")]


def source(pair, statement):
    """The text of a class ``K`` with both features, of ``make`` and of ``program``; None for two classes that
    it would be derived from, two metaclasses, and dataclasses that are derived from another class."""
    made = [word for name in pair for word in KINDS[name][0]]
    metas = [word for word in made if word.startswith("metaclass=")]
    bases = [word for word in made if not word.startswith(("metaclass=", "@"))]
    if len(metas) > 1 or len(bases) > 1 or bases and any(word.startswith("@") for word in made):
        return None
    decorator = "".join(word + "\n" for word in made if word.startswith("@"))
    start = "    def __init__(self, *a):\n" if not decorator else "    def __post_init__(self):\n"
    inner = "        super().__init__(*a)\n" if bases and bases != ["float"] and not decorator else ""
    body = start + inner + "        self.a = 1.5\n        self.b = 2.0\n        self.store = [1., 2., 3.]\n"
    body += "".join(line + "\n" for name in pair for line in KINDS[name][1])
    fill = "".join(f"    {FILL[base]}\n" for base in bases if base in FILL)
    lines = "\n    ".join(statement.split("\n"))
    return (
        f"{PRELUDE}\n{decorator}class K({', '.join([*bases, *metas])}):\n{body}\n"
        f"def make():\n    o = K()\n{fill}    return o\n\ndef program(x):\n    {lines}\n    return r\n"
    )


def state(owner, kind):
    """What an object and its class hold, whatever their methods say."""
    try:
        held = dict(object.__getattribute__(owner, "__dict__"))
    except AttributeError:
        held = {}
    if isinstance(owner, nn.Cell):
        held = {name: value for name, value in held.items() if not name.startswith("_")}
    for name in ("a", "b", "_p", "_d"):
        if name in getattr(kind, "__slots__", ()) and name not in held:
            with contextlib.suppress(AttributeError):
                held[name] = object.__getattribute__(owner, name)
    if isinstance(owner, (list, dict)):
        held["*"] = [*list.__iter__(owner)] if isinstance(owner, list) else dict(dict.items(owner))
    return held | {name: vars(kind)[name] for name in ("n", "count") if name in vars(kind)}
