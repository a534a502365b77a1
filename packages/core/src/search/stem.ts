// Reduces English words to their stems: Porter's algorithm, with exceptions.
// Implements S14.

/** Words whose forms Porter's algorithm does not unify. */
const IRREGULAR = new Map(
  Object.entries({
    analysis: 'analyz',
    analyses: 'analyz',
    analyse: 'analyz',
    analysed: 'analyz',
    analytics: 'analyz',
    analytical: 'analyz',
    conversion: 'convert',
    conversions: 'convert',
    deletion: 'delet',
    summary: 'summar',
    summaries: 'summar',
    summarize: 'summar',
    summarise: 'summar',
    summarization: 'summar',
    summarizer: 'summar',
    summarizes: 'summar',
    summarizing: 'summar',
    sent: 'send',
    bought: 'buy',
    sold: 'sell',
    found: 'find',
    paid: 'pai',
    written: 'write',
    wrote: 'write',
    ran: 'run',
    built: 'build',
    made: 'make',
    drawn: 'draw',
    children: 'child',
    people: 'person',
    news: 'news',
    optimum: 'optim',
    translator: 'translat',
    recipe: 'recip',
    subscription: 'subscrib',
    subscriptions: 'subscrib',
    description: 'describ',
    descriptions: 'describ',
    weather: 'weather',
    status: 'status',
    canvas: 'canvas',
    alias: 'alias',
    business: 'business',
    businesses: 'business',
    university: 'universiti',
    universities: 'universiti',
    universal: 'universal',
    organization: 'organiz',
    organisation: 'organiz',
    organ: 'organ',
    general: 'general',
    generic: 'generic',
    generally: 'general',
    generate: 'generat',
    generated: 'generat',
    generates: 'generat',
    generating: 'generat',
    generation: 'generat',
    generator: 'generat',
    policy: 'polici',
    police: 'police',
    communication: 'communic',
    community: 'commun',
  }),
)

const STEP_2: readonly (readonly [string, string])[] = [
  ['ational', 'ate'],
  ['ization', 'ize'],
  ['isation', 'ize'],
  ['iveness', 'ive'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['tional', 'tion'],
  ['biliti', 'ble'],
  ['entli', 'ent'],
  ['ousli', 'ous'],
  ['ation', 'ate'],
  ['alism', 'al'],
  ['aliti', 'al'],
  ['iviti', 'ive'],
  ['enci', 'ence'],
  ['anci', 'ance'],
  ['izer', 'ize'],
  ['iser', 'ize'],
  ['abli', 'able'],
  ['alli', 'al'],
  ['ator', 'ate'],
  ['eli', 'e'],
]

const STEP_3: readonly (readonly [string, string])[] = [
  ['icate', 'ic'],
  ['ative', ''],
  ['alize', 'al'],
  ['iciti', 'ic'],
  ['ical', 'ic'],
  ['ness', ''],
  ['ful', ''],
]

const STEP_4 = [
  ...['ement', 'ance', 'ence', 'able', 'ible', 'ment', 'ant', 'ent', 'ism', 'ate', 'iti', 'ous', 'ive'],
  ...['ize', 'ise', 'ion', 'al', 'er', 'ic', 'ou'],
]

/** Returns the stem of a lower-case word without accents; leaves short words and words in other scripts as they are. */
export function stem(word: string): string {
  const irregular = IRREGULAR.get(word)
  if (irregular !== undefined) return irregular
  if (word.length < 3 || !/^[a-z]+$/.test(word)) return word
  let text = endings(plural(word))
  text = replaceSuffix(text, STEP_2)
  text = replaceSuffix(text, STEP_3)
  return tidy(stripSuffix(text))
}

function plural(word: string): string {
  if (word.endsWith('sses')) return word.slice(0, -2)
  if (word.endsWith('ies')) return word.length > 4 ? word.slice(0, -2) : word.slice(0, -1)
  if (word.endsWith('ss') || word.endsWith('us') || !word.endsWith('s')) return word
  return word.length > 3 || /[aeiou]s$/.test(word) === false ? word.slice(0, -1) : word
}

/** Removes -ed and -ing, and turns a final y into i. */
function endings(word: string): string {
  let text = word
  if (text.endsWith('eed')) {
    if (measure(text.slice(0, -3)) > 0) text = text.slice(0, -1)
  } else {
    const cut = text.endsWith('ing') ? 3 : text.endsWith('ed') ? 2 : 0
    const base = text.slice(0, text.length - cut)
    if (cut > 0 && base.length > 1 && hasVowel(base)) text = restore(base)
  }
  return text.endsWith('y') && text.length > 2 && hasVowel(text.slice(0, -1)) ? `${text.slice(0, -1)}i` : text
}

function restore(base: string): string {
  if (/(?:at|bl|iz)$/.test(base)) return `${base}e`
  if (/([^aeioulsz])\1$/.test(base)) return base.slice(0, -1)
  return measure(base) === 1 && isShort(base) ? `${base}e` : base
}

function replaceSuffix(word: string, rules: readonly (readonly [string, string])[]): string {
  for (const [suffix, replacement] of rules) {
    if (!word.endsWith(suffix)) continue
    const base = word.slice(0, word.length - suffix.length)
    return measure(base) > 0 ? base + replacement : word
  }
  return word
}

function stripSuffix(word: string): string {
  for (const suffix of STEP_4) {
    if (!word.endsWith(suffix)) continue
    const base = word.slice(0, word.length - suffix.length)
    const isAllowed = measure(base) > 1 && (suffix !== 'ion' || /[st]$/.test(base))
    return isAllowed ? base : word
  }
  return word
}

function tidy(word: string): string {
  let text = word
  if (text.endsWith('e')) {
    const base = text.slice(0, -1)
    const size = measure(base)
    if (size > 1 || (size === 1 && !isShort(base))) text = base
  }
  return text.endsWith('ll') && measure(text) > 1 ? text.slice(0, -1) : text
}

/** Counts how often a vowel is followed by a consonant: Porter's m. */
function measure(word: string): number {
  let count = 0
  let wasVowel = false
  for (let index = 0; index < word.length; index++) {
    const vowel = isVowel(word, index)
    if (wasVowel && !vowel) count++
    wasVowel = vowel
  }
  return count
}

function isVowel(word: string, index: number): boolean {
  const letter = word[index]!
  if ('aeiou'.includes(letter)) return true
  return letter === 'y' && index > 0 && !isVowel(word, index - 1)
}

function hasVowel(word: string): boolean {
  for (let index = 0; index < word.length; index++) if (isVowel(word, index)) return true
  return false
}

/** Returns whether a word ends in consonant, vowel, consonant, the last not w, x or y. */
function isShort(word: string): boolean {
  const end = word.length - 1
  if (end < 2 || /[wxy]$/.test(word)) return false
  return !isVowel(word, end) && isVowel(word, end - 1) && !isVowel(word, end - 2)
}
