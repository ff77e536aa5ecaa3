"""A tensor that a loop writes to and puts another one in its place: the object from before the loop has exactly the
writes of the turns in which it was still that object."""

import numpy as np
import pytest
from both_modes import cell_outcome

import msnb as ms

PROGRAMS = """y=zeros(3)
while y.sum()<10: y[0]+=1.; y=y*2
return y
while x.sum()<10: x[0]+=1.; x=x*2
return x
y=x+1; z=y
while y.sum()<20: y[1]+=1.; y=y+1
return y, z
w=x.copy()
while w.sum()<10:
    if w[0]>3: break
    w[0]+=1
    w=w+0.5
w[2]=7.
return w
y=x
while y.sum()<30:
    y[0]=y[0]+1
    if y[0]>2.5: y=y*2
y[1]=-1.
return x, y
y=x
while y.sum()<30:
    if y[0]>2.5: y=y*2
    else: y[0]=y[0]+1
    x[1]=5.
return x, y
y=x; z=x*3
while y.sum()<40: y[0]+=1.; y=z; z=z*2
y[1]=9.
return x, y, z
y=x
while y.sum()<40: y[0]+=1.; y=self.p; self.p[1]+=4.
y[2]=9.
return x, y
y=self.p
while y.sum()<40:
    y[0]+=1.
    y=y*2 if y[0]>3 else y
return x, y
y=x; n=0
while n<3:
    m=0
    while m<2 and y.sum()<50: y[0]+=1.; y=y+y[1]; m+=1
    y[1]+=2.; n+=1
return x, y, n
y=x
for i in range(x.sum().astype(ms.int32)):
    y[i%3]=float(i)
    if i>1: continue
    y=y+1
return x, y
rows=[x, x*2]
while rows[0].sum()<30: rows[0][0]+=1.; rows=[rows[1], rows[0]*2]
return x, rows
y=x; z=x
while y.sum()<20: y[0]+=1.; z[1]+=2.; y=y*2
z[2]=8.
return x, y, z
y=x
while y.sum()<20: y+=1.; y=y*2
y-=1.
return x, y
def loss(v):
    y=v*1
    while y.sum()<20: y[0]=y[0]*v[1]+1; y=y*2
    return y.sum()
return ms.grad(loss)(x)
y=x; z=x
while y.sum()<40: y[0]+=1.; y=z; z=z*2
y[1]=9.
return x, y, z
y=x; z=x; w=x
while w.sum()<60: y[0]+=1.; y=z; z=w; w=w*2
y[1]=9.; z[2]=7.
return x, y, z, w
y=x
while y.sum()<30: y=y*2 if y[0]<4 else y+1
y[0]=-1.
return x, y
y=x; z=x
while y.sum()<20:
    if y[0]<2: y=y*2; z=y
    else: y=y+1
y[0]=-1.; z[1]=-2.
return x, y, z
y=x; z=x
while z.sum()<30: y[0]+=1.; t=y*2; y=t; z=t
z[1]=-2.
return x, y, z
y=x; z=x
while z.sum()<30:
    y[0]+=1.
    if y[0]>2: t=y*2; y=t; z=t
    else: z=z+1
z[1]=-2.
return x, y, z
y=x
while x.sum()<30: y=y*2; x[0]+=y[1]
return x, y
def step(v):
    y=v
    while y.sum()<20: y[0]+=1.; y=y*2
    return y
return ms.vmap(step)(ms.ops.stack([x,x+1]))"""


def bodies():
    lines = []
    for line in PROGRAMS.split("\n"):
        lines.append(line)
        if line.startswith("return"):
            yield "\n        ".join(lines)
            lines = []


@pytest.mark.parametrize("given", [[1.0, 2.0, 0.5], [2.0, 7.0, 40.0], [0.0, 1.0, 1.0]], ids=str)
@pytest.mark.parametrize("body", list(bodies()))
def test_object_from_before_the_loop(body, given):
    eager, graph = (cell_outcome(mode, body, given) for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE))
    for left, right in zip(eager, graph, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-5)
