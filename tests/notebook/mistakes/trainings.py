"""Mistakes in trainings, data sets and files: name -> (program, words that lead out)."""

DATA = """
import numpy as np
import msnb.dataset as ds
rows = np.ones((8, 3), np.float32), np.zeros(8, np.int32)
data = ds.NumpySlicesDataset(rows, ["x", "y"]).batch(2)
net = nn.Dense(3, 2)
"""
MODEL = DATA + "model = ms.Model(net, nn.CrossEntropyLoss(), nn.Adam(net.trainable_params()))\n"

MISTAKES: dict[str, tuple[str, str]] = {
    "network for an optimizer": ("nn.Adam(nn.Dense(3, 4))  # here", r"pass net.trainable_params\(\)"),
    "optimizer of nothing": ("nn.Adam([])  # here", "Parameter|trainable"),
    "unknown keyword of an optimizer": (
        "nn.Adam(nn.Dense(3, 4).trainable_params(), rate=0.1)  # here",
        "did you mean learning_rate",
    ),
    "rate that is a word": ("nn.SGD(nn.Dense(3, 4).trainable_params(), learning_rate='0.1')  # here", "float|number"),
    "negative rate": ("nn.SGD(nn.Dense(3, 4).trainable_params(), learning_rate=-0.1)  # here", "0|positive"),
    "class out of range": ("nn.CrossEntropyLoss()(ops.ones((2, 3)), ms.Tensor([0, 5]))  # here", "0 to 2"),
    "labels of another length": (
        "nn.CrossEntropyLoss()(ops.ones((2, 3)), ms.Tensor([0, 1, 2]))  # here",
        "hint: |labels",
    ),
    "labels as floats": ("nn.CrossEntropyLoss()(ops.ones((2, 3)), ms.Tensor([0.0, 1.0]))  # here", "int32|integer"),
    "class numbers for a dense loss": (
        "nn.SoftmaxCrossEntropyWithLogits()(ops.ones((2, 3)), ms.Tensor([0, 1]))  # here",
        "sparse=True",
    ),
    "shapes of a loss": ("nn.MSELoss()(ops.ones((2, 3)), ops.ones((2, 4)))  # here", "must be equal or 1"),
    "unknown reduction": ("nn.MSELoss(reduction='avg')  # here", "'mean'|mean"),
    "train without a number of epochs": (MODEL + "model.train(data)  # here", r"Model.train\(epoch"),
    "train on a list": (MODEL + "model.train(1, [1, 2])  # here", "data ?set|Dataset"),
    "keyword of train": (MODEL + "model.train(1, data, batch_size=4)  # here", r"data.batch\(32\)"),
    "loss that is no loss": (DATA + "ms.Model(net, 'mse', None)  # here", "loss"),
    "unknown metric": (
        DATA + "ms.Model(net, nn.CrossEntropyLoss(), metrics={'acuracy'})  # here",
        "did you mean|accuracy",
    ),
    "no optimizer": (DATA + "ms.Model(nn.Dense(3, 2), nn.MSELoss(), optimizer='adam')  # here", "nn.Adam|optimizer"),
    "network that does not fit the data": (
        MODEL.replace("nn.Dense(3, 2)", "nn.Dense(4, 2)") + "model.train(1, data, verbose=0)  # here",
        "in_channels=4",
    ),
    "checkpoint that is not there": ("ms.load_checkpoint('net.ckpt')  # here", "net.ckpt"),
    "checkpoint of another network": (
        "import tempfile\nfile = tempfile.mkdtemp() + '/a.ckpt'\nms.save_checkpoint(nn.Dense(3, 2), file)\n"
        "ms.load_param_into_net(nn.Dense(3, 4), ms.load_checkpoint(file))  # here",
        "shape|f32",
    ),
    "columns": (DATA + "data.map(lambda x: x, input_columns='image')  # here", "x, y|'x'|columns"),
    "batch of nothing": (DATA + "data.batch(0)  # here", "at least 1|positive"),
    "columns too few": (DATA + "ds.NumpySlicesDataset(rows, ['x'])  # here", "2|columns"),
    "folder that is not there": (DATA + "ds.MnistDataset('no/such/folder')  # here", "no/such/folder"),
    "keyword of a data set": (DATA + "data.shuffle(bufer_size=4)  # here", "did you mean buffer_size"),
    "callback that is no callback": (MODEL + "model.train(1, data, callbacks=[3])  # here", "Callback"),
}
