// Text → words, stems and query words.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { splitWords } from '../../src/search/index.ts'
import { readQuery } from '../../src/search/words/query-words.ts'
import { stem } from '../../src/search/words/stem.ts'
import { anyText } from '../support/any-text.ts'

describe('words of a text', () => {
  test.each([
    ['send_message', ['send', 'message']],
    ['sendMessage', ['send', 'message', 'sendmessage']],
    ['GitHub issue', ['git', 'hub', 'github', 'issue']],
    ['HTTPServer', ['http', 'server', 'httpserver']],
    ['all URLs and IDs', ['all', 'urls', 'and', 'ids']],
    ['an iPhone, OAuth', ['an', 'iphone', 'oauth']],
    ['sha256', ['sha', '256', 'sha256']],
    ["the user's name", ['the', 'user', 'name']],
    ['Café ＡＢＣ', ['cafe', 'abc']],
    ['Привет Мир', ['привет', 'мир']],
    ['搜索引擎', ['搜索', '索引', '引擎', '搜', '索', '引', '擎']],
    ['bing搜索', ['bing', '搜索', '搜', '索']],
    ['字', ['字']],
    ['rain ☔🌧 today', ['rain', '☔', '🌧', 'today']],
    ['utf8Text', ['utf', '8', 'text', 'utf8', '8text']],
    ['abcdefghijKlmnopqrst', ['abcdefghij', 'klmnopqrst', 'abcdefghijklmnopqrst']],
    ['abcdefghijKlmnopqrstu', ['abcdefghij', 'klmnopqrstu']],
    ["it's IT'S don't I'd I'm rock'n'roll", ['it', 'it', 'don', 'i', 'i', 'rock', 'n', 'roll']],
    ['приветМир2', ['привет', 'мир', '2']],
    ['', []],
    ['?! --', []],
  ])('S14 %s', (text, words) => {
    expect(splitWords(text)).toEqual(words)
  })

  test('S14 no text throws, and words are lower case without separators', () => {
    fc.assert(
      fc.property(anyText({ maxLength: 60 }), (text) => {
        for (const word of splitWords(text)) expect(word).not.toMatch(/[\s_\-./A-Z]|^$/)
      }),
    )
  })
})

describe('stems', () => {
  test.each([
    ['message', 'messages'],
    ['query', 'queries'],
    ['translate', 'translation', 'translator', 'translating'],
    ['calculate', 'calculator', 'calculation'],
    ['analyze', 'analysis', 'analyses'],
    ['convert', 'conversion', 'converted'],
    ['movie', 'movies'],
    ['run', 'running'],
  ])('%s and its forms are one', (...forms) => {
    expect(new Set(forms.map(stem)).size).toBe(1)
  })

  test('are those of Porter', () => {
    const pairs =
      'caresses:caress ponies:poni ties:tie caress:caress cats:cat gas:gas bus:bus feed:feed agreed:agre plastered:plaster ' +
      'bled:bled motoring:motor sing:sing conflated:conflat troubled:troubl sized:size hopping:hop tanned:tan falling:fall ' +
      'hissing:hiss fizzed:fizz failing:fail filing:file happy:happi sky:sky by:by relational:relat conditional:condit ' +
      'rational:ration valency:valenc hesitancy:hesit digitizer:digit conformably:conform radically:radic differently:differ ' +
      'vilely:vile analogously:analog vietnamization:vietnam predication:predic operator:oper feudalism:feudal ' +
      'decisiveness:decis hopefulness:hope callousness:callous formality:formal sensitivity:sensit sensibility:sensibl ' +
      'triplicate:triplic formative:form formalize:formal electricity:electr electrical:electr hopeful:hope goodness:good ' +
      'revival:reviv allowance:allow inference:infer airliner:airlin adjustable:adjust defensible:defens irritant:irrit ' +
      'replacement:replac adjustment:adjust dependent:depend adoption:adopt communism:commun activate:activ ' +
      'homologous:homolog effective:effect bowdlerize:bowdler probate:probat rate:rate cease:ceas controlling:control ' +
      'rolling:roll boxing:box snowed:snow played:plai toying:toi opinion:opinion red:red king:king x9s:x9s yling:yling'
    for (const pair of pairs.split(' ')) {
      const [word, expected] = pair.split(':')
      expect(`${word}:${stem(word!)}`).toBe(`${word}:${expected}`)
    }
  })

  test.each([
    ['new', 'news'],
    ['general', 'generate'],
    ['organ', 'organization'],
    ['universe', 'university'],
    ['bus', 'business'],
  ])('%s and %s stay apart', (one, other) => {
    expect(stem(one)).not.toBe(stem(other))
  })
})

const WEIGHTS = { filler: 0, value: 0.5, number: 0.25 }
const read = (query: string) => readQuery(query, WEIGHTS).map(({ word }) => word)
const weightOf = (query: string, word: string) =>
  readQuery(query, WEIGHTS).find((one) => one.word === word)?.weight

describe('words of a query', () => {
  test('filler and function words go', () => {
    expect(read('Could you please help me to send a message?')).toEqual(['send', 'message'])
  })

  test('a query of nothing else keeps them', () => {
    expect(read('help')).toEqual(['help'])
    expect(read('what is this')).toEqual(['what', 'is', 'this'])
  })

  test('quoted text, addresses and numbers are values', () => {
    expect(weightOf('send "quarterly report" now', 'report')).toBe(0.5)
    expect(weightOf('mail alice@example.com', 'alice')).toBe(0.5)
    expect(weightOf('open https://example.com/page', 'page')).toBe(0.5)
    expect(weightOf('list 12 issues', '12')).toBe(0.25)
    expect(weightOf('list 12 issues', 'issues')).toBe(1)
  })

  test('a query that is quoted as a whole is not a value', () => {
    expect(weightOf('"send message"', 'send')).toBe(1)
  })

  test('each sentence is a clause of its own', () => {
    const clauses = readQuery('Create an issue. Then book a flight', WEIGHTS)
    const clauseOf = (word: string) => clauses.find((one) => one.word === word)?.clause
    expect(clauseOf('issue')).not.toBe(clauseOf('flight'))
  })

  test('there are at most 32 clauses and 200 words', () => {
    const numbers = Array.from(
      { length: 250 },
      (_, at) =>
        `w${'abcdefghij'[at % 10]}${'klmnopqrstuvwxyz'[Math.floor(at / 10) % 16]}${at < 160 ? 'x' : 'y'}`,
    )
    const sentences = readQuery(`${numbers.slice(0, 40).join('. ')}.`, WEIGHTS)
    expect(sentences.map(({ clause }) => clause)).toEqual(
      numbers.slice(0, 40).map((_, at) => Math.min(at, 31)),
    )
    expect(readQuery(numbers.join(' '), WEIGHTS)).toHaveLength(200)
  })

  test('a word of several clauses counts once, at its highest weight', () => {
    expect(readQuery('read "report". report it', WEIGHTS)).toEqual([
      { word: 'read', weight: 1, clause: 0, parts: [] },
      { word: 'report', weight: 1, clause: 0, parts: [] },
    ])
  })

  test('an identifier is one word with its parts', () => {
    expect(readQuery('GitHub', WEIGHTS)).toEqual([
      { word: 'github', weight: 1, clause: 0, parts: ['git', 'hub'] },
    ])
    expect(readQuery('TomTom', WEIGHTS)).toMatchObject([{ word: 'tomtom', parts: ['tom', 'tom'] }])
  })

  test('S12 no query throws or hangs, and nothing is without weight', () => {
    fc.assert(
      fc.property(anyText({ maxLength: 200 }), (query) => {
        for (const { weight } of readQuery(query, WEIGHTS)) expect(weight).toBeGreaterThan(0)
      }),
    )
  })
})
