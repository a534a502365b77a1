// Reads the strings of a file as a map from key to text, or as pairs where the file holds both languages.

/** Gettext: each entry holds the English text and its translation. */
function readPo(text) {
  const pairs = []
  let entry = {}
  let field
  const finish = () => {
    if (entry.msgid && entry.msgstr && !entry.isFuzzy) pairs.push([entry.msgid, entry.msgstr])
    entry = {}
  }
  for (const line of text.split('\n')) {
    const match = /^(msgid|msgid_plural|msgstr(?:\[0\])?|msgstr\[\d\]|msgctxt)?\s*"(.*)"\s*$/.exec(line)
    if (line.startsWith('#, fuzzy')) {
      finish()
      entry.isFuzzy = true
    }
    if (!match) continue
    if (match[1] === 'msgid' && entry.msgstr !== undefined) finish()
    if (match[1]) field = match[1] === 'msgstr[0]' ? 'msgstr' : match[1]
    entry[field] = (entry[field] ?? '') + unescapeText(match[2])
  }
  finish()
  return pairs
}

function unescapeText(text) {
  return text.replace(/\\(.)/g, (_, character) => (character === 'n' ? '\n' : character))
}

/** JSON of any depth; a list of strings counts as one text. The language's own code in the path is left out. */
function readJson(text) {
  const strings = new Map()
  const visit = (value, path) => {
    if (typeof value === 'string') {
      if (!path.endsWith('/context') && !path.endsWith('/developer_comment')) strings.set(path, value)
    } else if (Array.isArray(value)) {
      if (value.every((one) => typeof one === 'string')) strings.set(path, value.join(', '))
    } else if (value && typeof value === 'object') {
      for (const key of Object.keys(value)) visit(value[key], `${path}/${LOCALE_KEY.test(key) ? '' : key}`)
    }
  }
  visit(JSON.parse(text), '')
  return strings
}

const LOCALE_KEY = /^[a-z]{2}([-_][A-Za-z]{2,4})?$/

/** CLDR annotations: the keywords of each character. */
function readAnnotations(text) {
  const { annotations } = JSON.parse(text).annotations
  return new Map(
    Object.entries(annotations).map(([character, { default: words = [], tts = [] }]) => [
      character,
      [...new Set([...tts, ...words])].join(', '),
    ]),
  )
}

function readAndroid(text) {
  const strings = new Map()
  for (const [, name, value] of text.matchAll(/<string\s+name="([^"]+)"[^>]*>([\s\S]*?)<\/string>/g)) {
    const plain = value
      .replace(/<[^>]*>/g, '')
      .replace(/&lt;/g, '<')
      .replace(/&gt;/g, '>')
      .replace(/&quot;/g, '"')
      .replace(/&amp;/g, '&')
      .replace(/\\u([0-9a-fA-F]{4})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
      .replace(/\\(.)/g, (_, character) => (character === 'n' ? '\n' : character))
    strings.set(name, plain.trim().replace(/^"|"$/g, ''))
  }
  return strings
}

/** PHP files that return nested arrays, one entry a line. */
function readPhp(text) {
  const strings = new Map()
  const path = []
  for (const line of text.split('\n')) {
    const open = /^\s*'([^']+)'\s*=>\s*\[\s*$/.exec(line)
    const leaf = /^\s*'([^']+)'\s*=>\s*'((?:[^'\\]|\\.)*)',?\s*$/.exec(line)
    if (open) path.push(open[1])
    else if (leaf) strings.set([...path, leaf[1]].join('/'), leaf[2].replace(/\\(.)/g, '$1'))
    else if (/^\s*\],?;?\s*$/.test(line)) path.pop()
  }
  return strings
}

const READERS = { json: readJson, annotations: readAnnotations, android: readAndroid, php: readPhp }

/** The pairs [English, foreign] of two files of a format; gettext needs only the foreign one. */
export function readPairs(format, foreign, english) {
  if (format === 'po') return readPo(foreign)
  const read = READERS[format]
  const [theirs, ours] = [read(foreign), read(english)]
  return [...theirs].flatMap(([key, text]) => (ours.has(key) ? [[ours.get(key), text]] : []))
}
