"""Random programs that write into variables, lists, dicts and objects, under branches, loops and transforms.

program(random)    the statements of a function of ``x`` and of ``l``, ``o``, ``a``, ``d``, ``n``
change(random)     what somebody does to these between two calls
places()           fresh ones
"""

import collections

import numpy as np

from msnb import Tensor


class Holder:
    count = 1.0


class Rows(list):
    pass


class Table(dict):
    pass


class Quiet:
    """A context manager that does nothing."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


VALUES = "1. 2. 3. K x.sum() l[0] o['u'] a.b len(l) t a.l[0] d[0]".split()
WRITES = """l[0]=V|l[-1]=V|l[1]=V|l.append(V)|l.insert(0,V)|l.pop()|l.pop(0)|l.extend([V,W])|l+=[V]|l[0:1]=[V]
l[:]=[V,W,V]|l.reverse()|del l[0]|l.clear(); l.extend([V,W,W])|l.remove(l[0])|l[0],l[1]=l[1],l[0]|l=[V,W]|l[0]+=V
l=list(l)|o['w']=V|o.update(u=V)|o.update({'w':V,'u':W})|o.setdefault('w',V)|o.pop('w',None)|o.clear(); o['u']=V
o.__ior__({'u':V})|o['u']+=V|o=dict(o)|del o['u']; o['u']=V|a.b=V|a.b+=V|a.l[0]=V|a.l.append(V)|a.l=[V,W]|a.c=V
a.o['u']=V|o['u']=V|setattr(a,'b',V)|Holder.count=V|d.append(V)|d.appendleft(V)|d.rotate(1)|d[0]=V|d.pop()|d.popleft()
K=V|t=V|t=t+V|s.discard(1.)|rows[0]=V|rows.z=V|rows.append(V)|table['u']=V|table.z=V|n[0]['k'][0]=V|n[0]['k'].append(V)|n[1][0]=V
n[0]['q']=V|p=l; p[0]=V|p=o; p['u']=V|p=a; p.b=V|q=l[:]; q[0]=V; l=q|array[0]=2.|array+=1.
vars(a)['b']=V|vars(a).update(b=V)|p=vars(a); p['b']=V"""
READS = """l[0]|l[-1]|sum(l)|len(l)|max(l)|o['u']|o.get('w',0.)|sum(o.values())|len(o)|a.b|a.l[0]|sum(a.l)|a.o['u']|d[0]
Holder.count|d[-1]|sum(d)|K|t|len(s)|rows[0]|sum(rows)|rows.z|table['u']|table.z|n[0]['k'][0]|sum(n[1])|len(n[0])
float(array[0])|(l[0] if l[0]>1 else 2.)|[v for v in l][0]|{**o}['u']|[*l][-1]|dict(o)['u']|list(o.values())[0]
e.b|e.l[0]|e.o['u']|sum(e.l)|vars(a)['b']"""
FRAMES = (
    "S", "if x.sum()>0:\n    S", "if x.sum()<0:\n    S\nelse:\n    T", "if x.sum()>0:\n    S\nelse:\n    T",
    "for i in range(2):\n    S", "y=x\nwhile y.sum()<4:\n    S\n    y=y*2", "if len(l)>2:\n    S\nelse:\n    T",
    "if l[0]>1.5:\n    S", "try:\n    S\nfinally:\n    T",
    "try:\n    S\n    raise ValueError\nexcept ValueError:\n    T",
    "with Quiet():\n    S", "def g():\n    global K\n    nonlocal t\n    I\ng()",
    "def g(v):\n    global K\n    nonlocal t\n    I\n    return (v*t).sum()\nt=t+ms.grad(g)(x).sum()",
    "t=t+ms.vmap(lambda v: v*l[0]+a.b)(x).sum()", "for v in l:\n    T\n    break", "for k in list(o):\n    S",
)  # fmt: skip
CHANGES = """l[0]=9.|l[1]=8.|l.append(7.)|o['u']=9.|o['w']=8.|a.b=9.|a.l[0]=9.|a.l.append(5.)|a.o['u']=9.
Holder.count=9.|d[0]=9.|d.append(6.)|K=9.|s.add(5.)|rows[0]=9.|rows.z=9.|table['u']=9.|table.z=9.|n[0]['k'][0]=9.|n[1][0]=9.|array[0]=9.|pass|a=e|a.l=l|a.o=o|e.l=a.l|e=a|l=a.l|o=a.o
l.pop()|o.pop('w',None)|l[:]=[1.,2.,3.]|o.update(u=1.,w=2.)"""
_OF_THE_FUNCTION = ("l=", "o=", "l+=", "q=", "array+=")  # a function inside would have them for its own


def _rows(table):
    return [entry for line in table.split("\n") for entry in line.split("|") if entry]


def _statement(random, inner=False):
    known = [row for row in _rows(WRITES) if not (inner and row.startswith(_OF_THE_FUNCTION))]
    return random.choice(known).replace("V", random.choice(VALUES)).replace("W", random.choice(VALUES))


def program(random):
    lines = []
    for _ in range(random.randint(1, 4)):
        frame = random.choice(FRAMES) if random.random() < 0.6 else "S"
        for sign, inner in (("S", False), ("T", False), ("I", True)):
            frame = frame.replace(f"    {sign}", f"    {_statement(random, inner)}")
        lines.append(_statement(random) if frame == "S" else frame)
        if random.random() < 0.3:
            lines.append("t=t+" + random.choice(_rows(READS)))
    given = ", ".join(random.choice(_rows(READS)) for _ in range(random.randint(1, 3)))
    return "\n".join([*lines, f"return x*t, {given}"])


def change(random):
    return random.choice(_rows(CHANGES))


def places():
    a, e, rows, table = Holder(), Holder(), Rows([1.0, 2.0]), Table(u=1.0)
    a.b, a.l, a.o, rows.z, table.z, Holder.count = 1.0, [1.0, 2.0], {"u": 1.0}, 1.0, 1.0, 1.0
    e.b, e.l, e.o = 2.0, [2.0, 1.0], {"u": 2.0}
    return {
        "a": a, "e": e, "rows": rows, "table": table, "l": [1.0, 2.0, 3.0], "o": {"u": 1.0, "w": 2.0}, "K": 1.0,
        "s": {1.0}, "d": collections.deque([1.0, 2.0, 3.0]), "n": [{"k": [1.0, 2.0]}, [1.0, 2.0]],
        "array": np.array([1.0, 2.0], np.float32), "Holder": Holder, "Quiet": Quiet,
    }  # fmt: skip


def plain(value):
    """Numbers and lists of what a program gave or left; a tensor of one number is that number."""
    if isinstance(value, (Tensor, np.ndarray)):
        return np.round(np.asarray(value), 4).tolist()
    if isinstance(value, (list, tuple, collections.deque)):
        return [*map(plain, value), plain(vars(value)) if hasattr(value, "__dict__") else None]
    if isinstance(value, dict):
        return [{key: plain(part) for key, part in value.items()}, plain(vars(value)) if type(value) is Table else None]
    if isinstance(value, Holder):
        return plain(vars(value))
    return sorted(value) if isinstance(value, set) else round(value, 4) if isinstance(value, float) else value
