#!/bin/sh
# Scale, search for C and gamma, train, predict: a script written for LIBSVM's programs. Only their names were changed:
#
#     svm-scale, svm-train, svm-predict       are now       maxmargin-svm-scale, maxmargin-svm-train, ...
#
# It generates its own data, in a given folder or in a temporary one: sh examples/heart.sh [folder]
set -eu
folder=${1:-$(mktemp -d)}
mkdir -p "$folder"
cd "$folder"

# 400 patients, 13 measurements on different scales, some of them missing (zero): per line a label and index:value pairs.
awk 'function next_number() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 }
     BEGIN {
         seed = 2026
         for (i = 0; i < 400; i++) {
             label = next_number() < 0.45 ? 1 : -1
             line = label
             for (j = 1; j <= 13; j++) {
                 value = next_number() + next_number() + next_number() - 1.5 + (j <= 4 ? 0.35 * label : 0)
                 value += j == 5 ? value * value * label : 0
                 if (next_number() < 0.9) line = line " " j ":" sprintf("%.4f", 10 ^ (j % 4) * value + 3 * j)
             }
             print line
         }
     }' > heart
head -n 200 heart > heart.train
tail -n +201 heart | head -n 100 > heart.validate
tail -n 100 heart > heart.test

maxmargin-svm-scale -l 0 -u 1 -s heart.range heart.train > heart.train.scaled
maxmargin-svm-scale -r heart.range heart.validate > heart.validate.scaled
maxmargin-svm-scale -r heart.range heart.test > heart.test.scaled

best=0
for c in 1 16; do
    for g in 0.0625 0.25 1; do
        maxmargin-svm-train -q -c $c -g $g heart.train.scaled heart.model
        accuracy=$(maxmargin-svm-predict heart.validate.scaled heart.model heart.out | sed 's/Accuracy = \(.*\)%.*/\1/')
        echo "C $c gamma $g: $accuracy"
        if awk "BEGIN { exit !($accuracy > $best) }"; then
            best=$accuracy best_c=$c best_g=$g
        fi
    done
done

echo "best: C $best_c gamma $best_g"
maxmargin-svm-train -q -c "$best_c" -g "$best_g" -w1 1.5 heart.train.scaled heart.model
maxmargin-svm-predict heart.test.scaled heart.model heart.out
maxmargin-svm-train -q -s 1 -n 0.4 -t 1 -d 2 -r 1 heart.train.scaled heart.nu.model
maxmargin-svm-predict heart.test.scaled heart.nu.model heart.nu.out
maxmargin-svm-train -q -s 3 -p 0.2 -t 2 -e 0.0001 heart.train.scaled heart.svr.model
maxmargin-svm-predict heart.test.scaled heart.svr.model heart.svr.out
