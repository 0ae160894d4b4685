"""Shapes of operations with dimension numbers and windows: dot, convolution, reduce, gather, ..."""

from __future__ import annotations

from compiler.hlo.attributes import ConvolutionLabels, DotDimensions, Window
from compiler.hlo.infer.base import (
    CannotInfer,
    InferenceError,
    Request,
    array,
    check,
    check_dimensions,
    joined_type,
    one_or_tuple,
    same_extent,
    same_extents,
    takes_element,
)
from compiler.hlo.infer.elementwise import check_type
from compiler.hlo.shape import UNBOUNDED, ArrayShape, ElementType, Shape, TupleShape, leaves


def dot(request: Request) -> Shape:
    lhs, rhs = request.array(0), request.array(1)
    dims = DotDimensions(
        request.ints("lhs_contracting_dims", ()),
        request.ints("rhs_contracting_dims", ()),
        request.ints("lhs_batch_dims", ()),
        request.ints("rhs_batch_dims", ()),
    )
    check_dimensions(dims.lhs_contracting + dims.lhs_batch, lhs.rank, "left dimension")
    check_dimensions(dims.rhs_contracting + dims.rhs_batch, rhs.rank, "right dimension")
    for what, left, right in (
        ("contracting", dims.lhs_contracting, dims.rhs_contracting),
        ("batch", dims.lhs_batch, dims.rhs_batch),
    ):
        check(len(left) == len(right), f"both sides need equally many {what} dimensions")
        for a, b in zip(left, right, strict=True):
            rule = f"{what} dimensions {a} of {lhs} and {b} of {rhs} must be equal"
            check(same_extent(lhs.dimensions[a], rhs.dimensions[b]), rule)
    kind = _product_type(lhs.element_type, rhs.element_type)
    left = dims.lhs_batch + dims.lhs_free(lhs.rank)
    right = dims.rhs_free(rhs.rank)
    extents = [lhs.dimensions[i] for i in left] + [rhs.dimensions[i] for i in right]
    dynamic = [lhs.is_dynamic_dimension(i) for i in left]
    dynamic += [rhs.is_dynamic_dimension(i) for i in right]
    return array(kind, extents, dynamic)


def _product_type(left: ElementType, right: ElementType) -> ElementType:
    """The wider of two types of one kind; a float wins over an integer."""
    if left.is_integer and right.is_integer:
        return max((left, right), key=lambda kind: kind.bits)
    if left.is_integer and right.is_float:
        return right
    if right.is_integer and left.is_float:
        return left
    return joined_type([left, right], "operands")


def convolution(request: Request) -> Shape:
    lhs, rhs = request.array(0), request.array(1)
    labels = request.require("dim_labels")
    if not isinstance(labels, ConvolutionLabels):
        raise CannotInfer(f"dim_labels {labels} leaves dimensions open")
    window: Window = request.attributes.get("window", Window())
    spatial = len(labels.input.spatial)
    check(lhs.rank == rhs.rank == spatial + 2, f"operands must have rank {spatial + 2}")
    check(len(window.dimensions) == spatial, f"the window must have {spatial} dimensions")
    _check_convolution_groups(request, lhs, rhs, labels)
    extents = [0] * lhs.rank
    batch_groups = request.attributes.get("batch_group_count", 1)
    extents[labels.output.first] = lhs.dimensions[labels.input.first] // batch_groups
    extents[labels.output.second] = rhs.dimensions[labels.kernel.first]
    for i, dimension in enumerate(window.dimensions):
        base = lhs.dimensions[labels.input.spatial[i]]
        kernel = rhs.dimensions[labels.kernel.spatial[i]]
        rule = f"window size {dimension.size} is not the kernel's extent {kernel}"
        check(same_extent(dimension.size, kernel), rule)
        check(dimension.stride > 0, "window strides must be positive")
        check(
            dimension.base_dilation > 0 and dimension.window_dilation > 0,
            "dilations must be positive",
        )
        extents[labels.output.spatial[i]] = (
            UNBOUNDED if base == UNBOUNDED else dimension.extent(base)
        )
    return array(_product_type(lhs.element_type, rhs.element_type), extents)


def _check_convolution_groups(
    request: Request, lhs: ArrayShape, rhs: ArrayShape, labels: ConvolutionLabels
) -> None:
    groups = request.attributes.get("feature_group_count", 1)
    batch_groups = request.attributes.get("batch_group_count", 1)
    features = lhs.dimensions[labels.input.second]
    kernel_inputs = rhs.dimensions[labels.kernel.second]
    outputs = rhs.dimensions[labels.kernel.first]
    check(groups > 0 and batch_groups > 0, "group counts must be positive")
    check(groups == 1 or batch_groups == 1, "feature and batch groups exclude each other")
    rule = f"{features} input features are not {groups} groups of the kernel's {kernel_inputs}"
    check(UNBOUNDED in (features, kernel_inputs) or features == kernel_inputs * groups, rule)
    check(outputs % groups == 0, f"{outputs} output features do not divide into {groups} groups")
    check(outputs % batch_groups == 0, f"{outputs} output features, {batch_groups} batch groups")
    batch = lhs.dimensions[labels.input.first]
    check(batch % batch_groups == 0, f"batch {batch} does not divide into {batch_groups} groups")


def _inputs_and_inits(request: Request) -> tuple[tuple[ArrayShape, ...], tuple[ArrayShape, ...]]:
    shapes = request.arrays()
    count = len(shapes) // 2
    check(count > 0 and len(shapes) == 2 * count, "needs as many initial values as inputs")
    inputs, inits = shapes[:count], shapes[count:]
    for init in inits:
        check(init.is_scalar, f"initial values must be scalars, one is {init}")
    for shape in inputs[1:]:
        rule = f"inputs must have equal dimensions, they are {inputs[0]} and {shape}"
        check(same_extents(shape.dimensions, inputs[0].dimensions), rule)
    return inputs, inits


def _reducer_types(
    request: Request, inputs: tuple[ArrayShape, ...], others: tuple[ArrayShape, ...]
) -> list[ElementType]:
    """The element types that the reducer yields, one per input.

    It takes one scalar of each input's type and one of each initial value's (or update's); floats
    may differ in width.
    """
    computation = request.callee("to_apply")
    results = leaves(computation.shape)
    found = [s for s in results if isinstance(s, ArrayShape) and s.is_scalar]
    rule = f"the reducer must yield {len(inputs)} scalars, it yields {computation.shape}"
    check(len(found) == len(results) == len(inputs), rule)
    parameters = [parameter.shape for parameter in computation.parameters]
    count = len(parameters)
    check(count == 2 * len(inputs), f"the reducer takes {count} parameters, not {2 * len(inputs)}")
    for i, (parameter, given) in enumerate(zip(parameters, (*inputs, *others), strict=True)):
        rule = f"the reducer takes {parameter} as parameter {i}, {given.element_type} is given"
        check(takes_element(parameter, given), rule)
    return [shape.element_type for shape in found]


def reduce(request: Request) -> Shape:
    inputs, inits = _inputs_and_inits(request)
    dimensions = request.ints("dimensions")
    check_dimensions(dimensions, inputs[0].rank, "dimension")
    kept = [i for i in range(inputs[0].rank) if i not in dimensions]
    extents = [inputs[0].dimensions[i] for i in kept]
    dynamic = [inputs[0].is_dynamic_dimension(i) for i in kept]
    kinds = _reducer_types(request, inputs, inits)
    return one_or_tuple([array(kind, extents, dynamic) for kind in kinds])


def windowed_extents(shape: ArrayShape, window: Window) -> tuple[int, ...]:
    """How many window positions fit along each dimension."""
    dims = window.dimensions
    check(len(dims) == shape.rank, f"the window has {len(dims)} dimensions, the operand is {shape}")
    for dimension in dims:
        check(dimension.stride > 0, "window strides must be positive")
        check(dimension.size > 0, "window sizes must be positive")
        check(
            dimension.base_dilation > 0 and dimension.window_dilation > 0,
            "dilations must be positive",
        )
    pairs = zip(dims, shape.dimensions, strict=True)
    return tuple(UNBOUNDED if e == UNBOUNDED else d.extent(e) for d, e in pairs)


def reduce_window(request: Request) -> Shape:
    inputs, inits = _inputs_and_inits(request)
    extents = windowed_extents(inputs[0], request.attributes.get("window", Window()))
    kinds = _reducer_types(request, inputs, inits)
    return one_or_tuple([array(kind, extents) for kind in kinds])


def select_and_scatter(request: Request) -> Shape:
    shape, source, init = request.array(0), request.array(1), request.array(2)
    extents = windowed_extents(shape, request.attributes.get("window", Window()))
    rule = f"the source must be shaped {list(extents)}, it is {source}"
    check(same_extents(extents, source.dimensions), rule)
    check(init.is_scalar, f"the initial value must be a scalar, it is {init}")
    _check_scalar_function(request, "select", 2, ElementType.PRED)
    _check_scalar_function(request, "scatter", 2, None)
    return array(shape.element_type, shape.dimensions)


def _check_scalar_function(
    request: Request, key: str, parameters: int, yields: ElementType | None
) -> None:
    """The computation must take this many scalars and yield one, of this type unless None."""
    computation = request.callee(key)
    count = len(computation.parameters)
    check(count == parameters, f"{key} takes {count} parameters, not {parameters}")
    shapes = (*(parameter.shape for parameter in computation.parameters), computation.shape)
    scalars = all(isinstance(shape, ArrayShape) and shape.is_scalar for shape in shapes)
    check(scalars, f"{key} must take and yield scalars")
    root = computation.shape
    fits = yields is None or (isinstance(root, ArrayShape) and root.element_type is yields)
    check(fits, f"{key} must yield {yields}, it yields {root}")


def gather(request: Request) -> Shape:
    shape, indices = request.array(0), request.array(1)
    sizes = request.ints("slice_sizes")
    offset_dims = request.ints("offset_dims")
    dropped = request.ints("collapsed_slice_dims") + request.ints("operand_batching_dims", ())
    check_type_integer(indices)
    _check_batching(request, "operand_batching_dims", "start_indices_batching_dims", indices)
    _check_sorted(request, "offset_dims", "collapsed_slice_dims", "operand_batching_dims")
    check(len(sizes) == shape.rank, f"has {len(sizes)} slice sizes, the operand is {shape}")
    check_dimensions(dropped, shape.rank, "collapsed or batching dimension")
    for i, (size, extent) in enumerate(zip(sizes, shape.dimensions, strict=True)):
        fits = size >= 0 and (extent == UNBOUNDED or size <= extent)
        check(fits, f"slice size {size} of dimension {i} does not fit in {extent}")
        check(i not in dropped or size <= 1, f"collapsed dimension {i} must have slice size 1")
    check(
        len(offset_dims) == shape.rank - len(dropped),
        "offset_dims must name the slice's dimensions",
    )
    batch = _index_batch(request, indices, "start_index_map", shape.rank)
    window = [size for i, size in enumerate(sizes) if i not in dropped]
    rank = len(batch) + len(window)
    check_dimensions(offset_dims, rank, "offset dimension")
    batches, windows = iter(batch), iter(window)
    extents = [next(windows) if i in offset_dims else next(batches) for i in range(rank)]
    return array(shape.element_type, extents)


def _check_batching(request: Request, key: str, index_key: str, indices: ArrayShape) -> None:
    """Batching dimensions come in pairs of one extent, one of the operand, one of the indices."""
    ours, theirs = request.ints(key, ()), request.ints(index_key, ())
    check(len(ours) == len(theirs), f"{key} and {index_key} must have equal lengths")
    check_dimensions(theirs, indices.rank, index_key)
    operand = request.array(0)
    check_dimensions(ours, operand.rank, key)
    for a, b in zip(ours, theirs, strict=True):
        rule = f"batching dimensions {a} of {operand} and {b} of {indices} must be equal"
        check(same_extent(operand.dimensions[a], indices.dimensions[b]), rule)


def _check_sorted(request: Request, *keys: str) -> None:
    for key in keys:
        values = request.ints(key, ())
        check(list(values) == sorted(values), f"{key}={values} must be in ascending order")


def check_type_integer(shape: ArrayShape) -> None:
    check(shape.element_type.is_integer, f"indices must be integers, they are {shape}")


def _index_batch(request: Request, indices: ArrayShape, key: str, rank: int) -> list[int]:
    """The extents of the index array without its index vector."""
    vector = request.require("index_vector_dim")
    check(0 <= vector <= indices.rank, f"index_vector_dim {vector} is out of range for {indices}")
    length = indices.dimensions[vector] if vector < indices.rank else 1
    targets = request.ints(key)
    check_dimensions(targets, rank, key)
    check(same_extent(length, len(targets)), f"{key} must have {length} entries")
    return [extent for i, extent in enumerate(indices.dimensions) if i != vector]


def scatter(request: Request) -> Shape:
    shapes = request.arrays()
    count = (len(shapes) - 1) // 2
    check(count > 0 and len(shapes) == 2 * count + 1, "needs operands, indices and as many updates")
    operands, indices, updates = shapes[:count], shapes[count], shapes[count + 1 :]
    check_type_integer(indices)
    _check_batching(request, "input_batching_dims", "scatter_indices_batching_dims", indices)
    _check_sorted(request, "update_window_dims", "inserted_window_dims", "input_batching_dims")
    rank = operands[0].rank
    batch = _index_batch(request, indices, "scatter_dims_to_operand_dims", rank)
    window_dims = request.ints("update_window_dims")
    inserted = request.ints("inserted_window_dims") + request.ints("input_batching_dims", ())
    check_dimensions(inserted, rank, "inserted or batching dimension")
    update_rank = len(batch) + len(window_dims)
    check(
        len(window_dims) == rank - len(inserted),
        "update_window_dims must name the window's dimensions",
    )
    check_dimensions(window_dims, update_rank, "update window dimension")
    kept = [extent for i, extent in enumerate(operands[0].dimensions) if i not in inserted]
    for update in updates:
        check(update.rank == update_rank, f"updates must have rank {update_rank}, one is {update}")
        batches, windows = iter(batch), iter(kept)
        for i, extent in enumerate(update.dimensions):
            if i in window_dims:
                limit = next(windows)
                check(limit == UNBOUNDED or extent <= limit, f"update {update} exceeds the operand")
            else:
                check(
                    same_extent(extent, next(batches)), f"update {update} does not fit the indices"
                )
    _reducer_types(request, operands, updates)
    results = [array(shape.element_type, shape.dimensions) for shape in operands]
    return one_or_tuple(results)


def sort(request: Request) -> Shape:
    shapes = request.arrays()
    check(bool(shapes), "needs at least one operand")
    dimensions = request.ints("dimensions")
    check(len(dimensions) == 1, "sorts along exactly one dimension")
    check_dimensions(dimensions, shapes[0].rank, "dimension")
    for shape in shapes[1:]:
        rule = f"operands must have equal dimensions, they are {shapes[0]} and {shape}"
        check(same_extents(shape.dimensions, shapes[0].dimensions), rule)
    _check_scalar_function(request, "to_apply", 2 * len(shapes), ElementType.PRED)
    for i, parameter in enumerate(request.callee("to_apply").parameters):
        given = shapes[i // 2].element_type
        rule = f"the comparator takes {parameter.shape} as parameter {i}, {given} is given"
        check(takes_element(parameter.shape, shapes[i // 2]), rule)
    return one_or_tuple([array(s.element_type, s.dimensions, s.dynamic) for s in shapes])


def topk(request: Request) -> Shape:
    shape = request.array(0)
    count = request.require("k")
    check(shape.rank >= 1, "needs at least one dimension")
    check(0 <= count <= shape.dimensions[-1], f"k {count} exceeds the last dimension of {shape}")
    extents = (*shape.dimensions[:-1], count)
    return TupleShape((array(shape.element_type, extents), array(ElementType.S32, extents)))


def batch_norm(request: Request) -> Shape:
    """All three kinds; training and gradient yield tuples."""
    shape = request.array(0)
    feature = request.require("feature_index")
    check(0 <= feature < shape.rank, f"feature_index {feature} is out of range for {shape}")
    check_type(shape, request.opcode.accepts)
    vectors = len(request.shapes) if request.opcode.name != "BATCH_NORM_GRAD" else 4
    for i in range(1, vectors):
        vector = request.array(i)
        fits = vector.rank == 1 and same_extent(vector.dimensions[0], shape.dimensions[feature])
        check(fits, f"operand {i} must have one element per feature, it is {vector}")
    whole = array(shape.element_type, shape.dimensions)
    if request.opcode.name == "BATCH_NORM_INFERENCE":
        return whole
    per_feature = array(request.array(1).element_type, (shape.dimensions[feature],))
    return TupleShape((whole, per_feature, per_feature))


def set_dimension_size(request: Request) -> Shape:
    shape = request.array(0)
    dimensions = request.ints("dimensions")
    check(len(dimensions) == 1, "sets exactly one dimension")
    check_dimensions(dimensions, shape.rank, "dimension")
    if UNBOUNDED in shape.dimensions:
        raise CannotInfer("the operand's extents are not known")
    dynamic = [shape.is_dynamic_dimension(i) or i in dimensions for i in range(shape.rank)]
    return array(shape.element_type, shape.dimensions, dynamic)


def get_dimension_size(request: Request) -> Shape:
    shape = request.array(0)
    dimensions = request.ints("dimensions")
    if len(dimensions) != 1:
        raise InferenceError("asks for exactly one dimension")
    check_dimensions(dimensions, shape.rank, "dimension")
    return array(ElementType.S32, ())
