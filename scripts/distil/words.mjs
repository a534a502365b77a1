// Text helpers of the distillation: splits names into words, cuts sentences, and makes reproducible random numbers.

/** `createIssue_comment` → `create issue comment` */
export function splitName(name) {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .toLowerCase()
}

/** One line of plain text: no markup, no addresses. */
export function clean(text) {
  return String(text ?? '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/https?:\S+/g, ' ')
    .replaceAll(/[`*#|]+/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
}

export function firstSentence(text) {
  return clean(String(text ?? '').slice(0, 1000)).split(/(?<=[a-z)][.!?]) /)[0]
}

/** A small generator of pseudo-random numbers in [0, 1), the same for the same seed (mulberry32). */
export function chance(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

export function shuffle(list, random) {
  for (let i = list.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    ;[list[i], list[j]] = [list[j], list[i]]
  }
  return list
}
