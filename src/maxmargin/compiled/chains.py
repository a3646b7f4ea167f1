"""Chains of labels: the best labelling (Viterbi), joint features, and block steps of the Frank-Wolfe method.

Sequence i holds the rows starts[i] to starts[i + 1] of one CSR matrix, and w is the unary weights (one row a feature,
one column a label), then, if `edges`, transitions, start and end weights. With one row for each feature a token adds
contiguous rows of weights, whether its features are ten of a hundred thousand or all of a hundred. The scores of 47,500
handwritten letters (128 pixels, a fifth of them set, 26 labels) took 9 ms on one core, those of a dense product 14 ms.
"""

from typing import NamedTuple

import numpy as np

from .compiler import njit

OPTIONS = {
    "cache": True, "nogil": True, "no_cfunc_wrapper": True, "error_model": "numpy", "fastmath": {"contract", "reassoc"},
}  # fmt: skip


class Chains(NamedTuple):
    """All sequences: rows of a CSR matrix, where each sequence starts, labels, costs[y, z], and the shape of w."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    starts: np.ndarray
    y: np.ndarray
    costs: np.ndarray
    n_features: int
    n_labels: int
    edges: bool


@njit(**OPTIONS)
def split_weights(chains, w):
    """Unary weights (features x labels), transitions, start and end weights; zeros where there are none."""
    k, base = chains.n_labels, chains.n_features * chains.n_labels
    unary = w[:base].reshape((chains.n_features, k))
    if not chains.edges:
        return unary, np.zeros((1, 1)), np.zeros(k), np.zeros(k)
    tail = base + k * k
    return unary, w[base:tail].reshape((k, k)), w[tail : tail + k], w[tail + k : tail + 2 * k]


@njit(**OPTIONS)
def fill_scores(chains, begin, length, unary, augmented, scores):
    """scores_t = sum_j x_tj unary_j, one row a token; if `augmented`, plus the costs of the labels against y_t."""
    n_labels = chains.n_labels
    for t in range(length):
        row = scores[t]
        if augmented:
            row[:] = chains.costs[chains.y[begin + t]]
        else:
            row[:] = 0.0
        for m in range(chains.indptr[begin + t], chains.indptr[begin + t + 1]):
            value, weights = chains.data[m], unary[chains.indices[m]]
            for k in range(n_labels):
                row[k] += value * weights[k]


@njit(**OPTIONS)
def decode(scores, length, transitions, start, end, best, spare, back, z):
    """argmax over z of start[z_0] + sum_t scores[t, z_t] + sum_t transitions[z_t-1, z_t] + end[z_last], by Viterbi.

    Of several that are best, the one that is first in the order of labels, from the last token to the first. Returns
    the value. The inner loop runs along a row of transitions, so that it is done four labels at a time.
    """
    n_labels = scores.shape[1]
    for k in range(n_labels):
        best[k] = start[k] + scores[0, k]
    for t in range(1, length):
        came = back[t]
        level, row = best[0], transitions[0]
        for k in range(n_labels):
            spare[k] = level + row[k]
            came[k] = 0
        for j in range(1, n_labels):
            level, row = best[j], transitions[j]
            for k in range(n_labels):
                reach = level + row[k]
                better = reach > spare[k]
                spare[k] = reach if better else spare[k]
                came[k] = j if better else came[k]
        for k in range(n_labels):
            best[k] = spare[k] + scores[t, k]
    last = 0
    for k in range(1, n_labels):
        if best[k] + end[k] > best[last] + end[last]:
            last = k
    value = best[last] + end[last]
    for t in range(length - 1, -1, -1):
        z[t] = last
        last = back[t, last]
    return value


@njit(**OPTIONS)
def measure_path(scores, length, transitions, start, end, z):
    """start[z_0] + sum_t scores[t, z_t] + sum_t transitions[z_t-1, z_t] + end[z_last]."""
    total = start[z[0]] + end[z[length - 1]]
    for t in range(length):
        total += scores[t, z[t]]
    for t in range(1, length):
        total += transitions[z[t - 1], z[t]]
    return total


@njit(**OPTIONS)
def maximise_chains(chains, w, first, last, augmented, z, values):
    """z_i = argmax Delta(y_i, z) + <w, psi(x_i, z)> and values_i = its value less <w, psi(x_i, y_i)>.

    For sequences first to last. If not `augmented` there is no Delta, and the value is that of z.
    """
    unary, transitions, start, end = split_weights(chains, w)
    starts, n_labels, longest = chains.starts, chains.n_labels, 1
    for i in range(first, last):
        longest = max(longest, starts[i + 1] - starts[i])
    scores, back = np.empty((longest, n_labels)), np.empty((longest, n_labels), np.int64)
    best, spare = np.empty(n_labels), np.empty(n_labels)
    for i in range(first, last):
        begin, length = starts[i], starts[i + 1] - starts[i]
        fill_scores(chains, begin, length, unary, augmented, scores)
        values[i] = decode(scores, length, transitions, start, end, best, spare, back, z[begin : begin + length])
        if augmented:
            values[i] -= measure_path(scores, length, transitions, start, end, chains.y[begin : begin + length])


@njit(**OPTIONS)
def list_entries(chains, i, z, places, values):
    """psi(x_i, y_i) - psi(x_i, z_i) as entries (place, value), some places more than once; returns how many."""
    y, k, count = chains.y, chains.n_labels, 0
    begin, end = chains.starts[i], chains.starts[i + 1]
    for t in range(begin, end):
        if z[t] != y[t]:
            for m in range(chains.indptr[t], chains.indptr[t + 1]):
                base = chains.indices[m] * k
                places[count], values[count] = base + y[t], chains.data[m]
                places[count + 1], values[count + 1] = base + z[t], -chains.data[m]
                count += 2
    if not chains.edges:
        return count
    base = chains.n_features * k
    for t in range(begin + 1, end):
        if z[t] != y[t] or z[t - 1] != y[t - 1]:
            count = list_pair(base + y[t - 1] * k + y[t], base + z[t - 1] * k + z[t], count, places, values)
    base += k * k
    if z[begin] != y[begin]:
        count = list_pair(base + y[begin], base + z[begin], count, places, values)
    if z[end - 1] != y[end - 1]:
        count = list_pair(base + k + y[end - 1], base + k + z[end - 1], count, places, values)
    return count


@njit(inline="always")
def list_pair(right, wrong, count, places, values):
    """One for the right place, minus one for the wrong one."""
    places[count], values[count] = right, 1.0
    places[count + 1], values[count + 1] = wrong, -1.0
    return count + 2


@njit(**OPTIONS)
def count_entries(chains, i):
    """As many entries as `list_entries` can make for a sequence."""
    begin, end = chains.starts[i], chains.starts[i + 1]
    return 2 * (chains.indptr[end] - chains.indptr[begin]) + 2 * (end - begin) + 2


@njit(**OPTIONS)
def find_most_entries(chains, n):
    """As many entries as any sequence can make."""
    most = 0
    for i in range(n):
        most = max(most, count_entries(chains, i))
    return most


@njit(**OPTIONS)
def combine_chains(chains, z, weight, out):
    """out += sum_i weight_i (psi(x_i, y_i) - psi(x_i, z_i))."""
    most = find_most_entries(chains, len(weight))
    places, values = np.empty(most, np.int64), np.empty(most)
    for i in range(len(weight)):
        if weight[i] != 0.0:
            count = list_entries(chains, i, z, places, values)
            add_entries(out, weight[i], places, values, count)


@njit(**OPTIONS)
def add_entries(out, weight, places, values, count):
    """out += weight g for g given by entries."""
    for m in range(count):
        out[places[m]] += weight * values[m]


@njit(**OPTIONS)
def sparse_dot(w, places, values, count):
    """<w, g> for g given by entries."""
    total = 0.0
    for m in range(count):
        total += values[m] * w[places[m]]
    return total


@njit(**OPTIONS)
def sum_costs(chains, i, z):
    """Delta(y_i, z_i)."""
    total = 0.0
    for t in range(chains.starts[i], chains.starts[i + 1]):
        total += chains.costs[chains.y[t], z[t]]
    return total


@njit(**OPTIONS)
def sum_all_costs(chains, z, losses):
    """losses_i = Delta(y_i, z_i)."""
    for i in range(len(losses)):
        losses[i] = sum_costs(chains, i, z)


@njit(**OPTIONS)
def measure_chains(chains, z, w, losses, heights):
    """losses_i = Delta(y_i, z_i), heights_i = Delta(y_i, z_i) + <w, psi(x_i, z_i) - psi(x_i, y_i)>."""
    most = find_most_entries(chains, len(losses))
    places, values = np.empty(most, np.int64), np.empty(most)
    for i in range(len(losses)):
        count = list_entries(chains, i, z, places, values)
        losses[i] = sum_costs(chains, i, z)
        heights[i] = losses[i] - sparse_dot(w, places, values, count)


@njit(**OPTIONS)
def fill_products(r, places, values, counts, used, buffer, G):
    """G_rs = <g_r, g_s> of one vector with all, given by entries; `buffer` holds zeros before and after."""
    add_entries(buffer, 1.0, places[r], values[r], counts[r])
    for s in range(used):
        G[r, s] = G[s, r] = sparse_dot(buffer, places[s], values[s], counts[s])
    for m in range(counts[r]):
        buffer[places[r, m]] = 0.0


@njit(**OPTIONS)
def fill_all_products(chains, kept, used, buffer, G):
    """The products of all labellings kept for each sequence."""
    slots, most = kept.shape[0], find_most_entries(chains, len(used))
    places, values, counts = np.empty((slots, most), np.int64), np.empty((slots, most)), np.empty(slots, np.int64)
    for i in range(len(used)):
        for s in range(used[i]):
            counts[s] = list_entries(chains, i, kept[s], places[s], values[s])
            fill_products(s, places, values, counts, s + 1, buffer, G[i])


@njit(**OPTIONS)
def step_in_pairs(G, heights, a, used, total, enough, max_steps):
    """max sum_s a_s heights_s - 1/2 a'G a from here, over a >= 0 with its sum: a pair at a time, with exact steps.

    Weight goes from the lowest labelling that has any to the highest one, until their distance times the sum is
    `enough`. Returns how much D rose.
    """
    risen = 0.0
    for _ in range(max_steps):
        top, low = 0, -1
        for s in range(used):
            if heights[s] > heights[top]:
                top = s
            if a[s] > 0.0 and (low < 0 or heights[s] < heights[low]):
                low = s
        apart = heights[top] - heights[low]
        if not apart * total > enough:
            break
        second_derivative = G[top, top] + G[low, low] - 2.0 * G[top, low]
        step = a[low] if second_derivative * a[low] <= apart else apart / second_derivative
        a[top] += step
        a[low] = a[low] - step if step < a[low] else 0.0
        risen += step * (apart - 0.5 * step * second_derivative)
        for s in range(used):
            heights[s] -= step * (G[s, top] - G[s, low])
    return risen


@njit(**OPTIONS)
def find_labelling(chains, i, kept, used, z):
    """Which of the kept labellings of sequence i is z; -1 if none."""
    begin, end = chains.starts[i], chains.starts[i + 1]
    for s in range(used):
        t = begin
        while t < end and kept[s, t] == z[t - begin]:
            t += 1
        if t == end:
            return s
    return -1


@njit(**OPTIONS)
def drop_idle_labellings(chains, i, kept, a, idle, G, used, patience):
    """Let go of labellings that had no weight for longer than `patience` visits; returns how many are left."""
    begin, end = chains.starts[i], chains.starts[i + 1]
    s = 0
    while s < used:
        idle[s, i] = 0 if a[s, i] > 0.0 else idle[s, i] + 1
        if idle[s, i] <= patience:
            s += 1
            continue
        used -= 1  # the last one takes its place, and is counted there
        a[s, i], idle[s, i] = a[used, i], idle[used, i]
        a[used, i], idle[used, i] = 0.0, 0
        kept[s, begin:end] = kept[used, begin:end]
        for r in range(used):
            G[s, r] = G[r, s] = G[used, r]
        G[s, s] = G[used, used]
    return used


@njit(**OPTIONS)
def choose_slot(i, a, used, slots):
    """Where a new labelling of sequence i goes: a free slot, or that of the lightest one."""
    if used < slots:
        return used
    lightest = 0
    for s in range(1, slots):
        if a[s, i] < a[lightest, i]:
            lightest = s
    return lightest


@njit(**OPTIONS)
def measure_kept_labellings(chains, i, w, kept, used, places, values, counts, heights):
    """Entries and heights Delta + <w, psi(z) - psi(y)> of the kept labellings of sequence i."""
    for s in range(used):
        counts[s] = list_entries(chains, i, kept[s], places[s], values[s])
        heights[s] = sum_costs(chains, i, kept[s]) - sparse_dot(w, places[s], values[s], counts[s])


@njit(**OPTIONS)
def pass_over_chains(
    chains,
    w,
    c,
    kept,
    a,
    idle,
    G,
    used,
    order,
    first,
    last,
    asked,
    replace_lightest,
    patience,
    enough,
    gaps,
    buffer,
    sums,
):
    """Block steps for the sequences order[first:last]; returns how many of them were visited.

    If `asked`, the oracle adds the best labelling to those kept; else only the kept ones are looked at. a[s, i] is the
    weight of labelling kept[s] of sequence i, and G[i] holds the products of its labellings: formed again at each visit
    they took as long as all the rest of a pass over kept labellings. sums[0] grows by the block gaps, sums[1] by what D
    rose, sums[2] by the multiplications. Where there is no room for another labelling the pass stops before that
    sequence; if `replace_lightest`, the lightest labelling gives its weight to the new one.
    """
    starts, n_labels, slots = chains.starts, chains.n_labels, kept.shape[0]
    unary, transitions, start, end = split_weights(chains, w)
    longest, most = 1, 0
    for p in range(first, last):
        longest = max(longest, starts[order[p] + 1] - starts[order[p]])
        most = max(most, count_entries(chains, order[p]))
    scores, back = np.empty((longest, n_labels)), np.empty((longest, n_labels), np.int64)
    best, spare, z = np.empty(n_labels), np.empty(n_labels), np.empty(longest, np.int16)
    places, values = np.empty((slots, most), np.int64), np.empty((slots, most))
    counts, heights, weights = np.empty(slots, np.int64), np.empty(slots), np.empty(slots)
    for p in range(first, last):
        i = order[p]
        begin, length = starts[i], starts[i + 1] - starts[i]
        value = -np.inf
        if asked:
            fill_scores(chains, begin, length, unary, True, scores)
            value = decode(scores, length, transitions, start, end, best, spare, back, z)
            value -= measure_path(scores, length, transitions, start, end, chains.y[begin : begin + length])
            steps = chains.indptr[begin + length] - chains.indptr[begin] + (length - 1) * n_labels
            sums[2] += 0.25 * steps * n_labels  # four labels at a time
        elif used[i] < 2:
            continue
        measure_kept_labellings(chains, i, w, kept, used[i], places, values, counts, heights)
        mean = 0.0
        for s in range(used[i]):
            mean += a[s, i] * heights[s]
            sums[2] += counts[s]
            value = value if asked else max(value, heights[s])
        gap = c[i] * value - mean
        if gap > enough[i] and asked and find_labelling(chains, i, kept, used[i], z) < 0:
            if used[i] == slots and not replace_lightest:
                return p - first
            s = choose_slot(i, a, used[i], slots)
            if s == used[i]:
                a[s, i], counts[s] = 0.0, 0
                used[i] += 1
            add_entries(w, -a[s, i], places[s], values[s], counts[s])
            kept[s, begin : begin + length], idle[s, i] = z[:length], 0
            counts[s] = list_entries(chains, i, kept[s], places[s], values[s])
            add_entries(w, a[s, i], places[s], values[s], counts[s])
            measure_kept_labellings(chains, i, w, kept, used[i], places, values, counts, heights)
            fill_products(s, places, values, counts, used[i], buffer, G[i])
            sums[2] += used[i] * counts[s]
        gaps[i] = gap
        sums[0] += max(gap, 0.0)
        if gap <= enough[i]:
            continue
        weights[: used[i]] = a[: used[i], i]
        sums[1] += step_in_pairs(G[i], heights, weights, used[i], c[i], 0.1 * gap, 20 + 10 * used[i])
        for s in range(used[i]):
            if weights[s] != a[s, i]:
                add_entries(w, weights[s] - a[s, i], places[s], values[s], counts[s])
                a[s, i] = weights[s]
        used[i] = drop_idle_labellings(chains, i, kept, a, idle, G[i], used[i], patience)
    return last - first
