// BERT's uncased tokenizer as the teacher expects it: punctuation kept, [CLS] and [SEP] around.

const WORD = /[\p{P}\p{S}]|[\p{Script=Han}]|[^\s\p{P}\p{S}\p{Script=Han}]+/gu

/** Creates a tokenizer, text → numbers; `vocabulary` maps tokens to numbers. */
export function bertTokenizer(vocabulary, longest) {
  const start = vocabulary.get('[CLS]')
  const end = vocabulary.get('[SEP]')
  const unknown = vocabulary.get('[UNK]')
  return (text) => {
    const plain = text
      .toLowerCase()
      .normalize('NFD')
      .replaceAll(/\p{Mn}/gu, '')
    const tokens = [start]
    for (const word of plain.match(WORD) ?? []) tokens.push(...(pieces(vocabulary, word) ?? [unknown]))
    return [...tokens.slice(0, longest - 1), end]
  }
}

/** Greedy longest match; undefined where a part matches nothing. */
function pieces(vocabulary, word) {
  if (word.length > 100) return undefined
  const found = []
  for (let from = 0; from < word.length; ) {
    let to = word.length
    const prefix = from === 0 ? '' : '##'
    while (to > from && !vocabulary.has(prefix + word.slice(from, to))) to--
    if (to === from) return undefined
    found.push(vocabulary.get(prefix + word.slice(from, to)))
    from = to
  }
  return found
}
