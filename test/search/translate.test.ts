// Queries in other languages: translated word by word, English ones never.
import { describe, expect, it } from 'vitest'
import { type Entry, writeTable } from '../../scripts/bridge/table.ts'
import { type Bridge, createBridge, createHybrid, createTranslate } from '../../src/search/index.ts'
import { toolsOf } from './tools.ts'

const lexicon = (words: Readonly<Record<string, string>>): Entry[] =>
  Object.entries(words).map(([word, targets]) => ({
    word,
    frequency: targets === '' ? 10 : 4,
    targets: targets.split(' ').filter((target) => target !== ''),
  }))

const bridge = createBridge(
  writeTable(
    lexicon({
      the: '',
      for: '',
      invoice: '',
      customer: '',
      create: '',
      weather: '',
      show: '',
      all: '',
      file: '',
    }),
    new Map([
      [
        'de',
        lexicon({
          ...{ eine: '', für: '', fur: '', die: '', den: '', in: '', der: '' },
          ...{ rechnung: 'invoice', kunde: 'customer', erstellen: 'create', wetter: 'weather' },
          ...{ vorhersage: 'forecast', hub: 'lift', git: 'grid', datei: 'file' },
        }),
      ],
      ['fr', lexicon({ une: '', pour: '', le: '', facture: 'invoice', client: 'customer', creer: 'create' })],
      ['ru', lexicon({ для: '', счет: 'invoice', клиент: 'customer', создать: 'create' })],
      ['uk', lexicon({ для: '', рахунок: 'invoice', створити: 'create' })],
      ['zh', lexicon({ 发票: 'invoice', 客户: 'customer', 给: '', 开: 'issue' })],
      ['ja', lexicon({ 請求書: 'invoice', 作成: 'create', を: '', 請求: 'claim' })],
      ['ko', lexicon({ 청구서: 'invoice', 고객: 'customer' })],
    ]),
  ),
)

/** Words of "delete nothing, only list the branches" in languages that deny in different ways. */
const denying = createBridge(
  writeTable(
    lexicon({ the: '', delete: '', list: '', branch: '' }),
    new Map([
      ['de', lexicon({ die: '', nichts: 'nothing', losche: 'delete', zeige: 'list', zweige: 'branch' })],
      [
        'fr',
        lexicon({
          les: '',
          ne: '',
          rien: 'nothing',
          supprime: 'deleted',
          affiche: 'list',
          rameaux: 'branch',
        }),
      ],
      ['zh', lexicon({ 不要: '', 删除: 'delete', 列出: 'list', 分支: 'branch' })],
    ]),
  ),
)

const translate = createTranslate(() => bridge)
const nothingKnown = () => false
const english = (query: string, known: readonly string[] = []) => {
  const translation = translate(query, (word) => known.includes(word))
  return translation && `${translation.language}: ${translation.text}`
}

describe('a query in another language', () => {
  it.each([
    ['eine Rechnung für den Kunden erstellen', 'de: invoice customer create'],
    ['créer une facture pour le client', 'fr: create invoice customer'],
    ['создать счёт для клиента', 'ru: create invoice customer'],
    ['створити рахунок', 'uk: create invoice'],
    ['给客户开发票', 'zh: customer issue invoice'],
    ['請求書を作成', 'ja: invoice create'],
    ['고객의 청구서를', 'ko: customer invoice'],
    ['Wetter', 'de: weather'],
  ])('%s', (query, expected) => {
    expect(english(query)).toBe(expected)
  })

  it('other forms of a word and compounds are found by their parts', () => {
    expect(english('die Rechnungen in der Datei')).toBe('de: invoice file')
    expect(english('die Wettervorhersage')).toBe('de: weather forecast')
    expect(english('die Kundenrechnung')).toBe('de: customer invoice')
  })

  it('names with capitals inside, identifiers and numbers stay as they are', () => {
    expect(english('eine Datei für GitHub und PDF 2024')).toBe('de: file github pdf 2024')
  })

  it('a word of the catalogue is neither split nor changed', () => {
    expect(english('die Rechnung für github', ['github'])).toBe('de: invoice github')
    expect(english('die Rechnung für rechnungsbot', ['rechnungsbot'])).toBe('de: invoice rechnungsbot')
  })
})

describe('an English query', () => {
  const queries = [
    'create an invoice for the customer',
    'show the weather',
    'invoice',
    'please show me all the files',
    'invoise customer',
    'xyzzy quux',
    'GitHub',
    'list_files',
    '404',
    '🎉',
    '',
    'translate 你好 for the customer, please, and show the whole file of the weather',
  ]

  it.each(queries)('is not translated: "%s"', (query) => {
    expect(translate(query, nothingKnown)).toBeUndefined()
  })

  it('is judged without the table when all of its words are known', () => {
    let asked = 0
    const lazy = createTranslate(() => {
      asked++
      return bridge
    })
    lazy('please show me the weather forecast for Paris', (word) =>
      ['show', 'weather', 'forecast', 'paris'].includes(word),
    )
    expect(asked).toBe(0)
    lazy('Wetter', nothingKnown)
    expect(asked).toBe(1)
  })
})

describe('hostile queries', () => {
  it('only the beginning of a long query is translated', () => {
    const translation = translate('Rechnung '.repeat(20_000), nothingKnown)
    expect(translation?.text).toBe('invoice')
    expect(translation?.words.length).toBeLessThanOrEqual(250)
    expect(translate(`Rechnung${'x'.repeat(100_000)}`, nothingKnown)).toBeUndefined()
    expect(translate('请'.repeat(100_000), nothingKnown)).toBeUndefined()
  })

  it('many scripts in one query', () => {
    expect(() =>
      translate('Rechnung счёт 发票 청구서 facture ﷺ \ud800 فاتورة ใบแจ้งหนี้', nothingKnown),
    ).not.toThrow()
  })

  it('without a table nothing is translated', () => {
    const none = createTranslate((): Bridge | undefined => undefined)
    expect(none('eine Rechnung erstellen', nothingKnown)).toBeUndefined()
  })
})

describe('a translated query ranks', () => {
  const tools = toolsOf(
    { name: 'create_invoice', description: 'Creates an invoice for a customer.' },
    { name: 'list_rooms', description: 'Lists rooms.' },
    { name: 'buchhaltung', description: 'Rechnung für Kunden erstellen' },
    { name: 'delete_room', description: 'Deletes a room.' },
  )
  const rank = createHybrid({ vectors: undefined, translate })

  it('tools in English and in its own language before all others', async () => {
    const { hits } = await rank(tools, 'eine Rechnung für den Kunden erstellen', 4)
    expect(hits.map(({ tool }) => tool.name).sort()).toEqual(['buchhaltung', 'create_invoice'])
    expect(hits[0]?.tool.name).toBe('buchhaltung')
  })

  it('as it would alone when the catalogue has nothing in its language', async () => {
    const english = [tools[0]!, tools[1]!, tools[3]!]
    const { hits, matched } = await rank(english, 'créer une facture', 4)
    expect(hits.map(({ tool }) => tool.name)).toEqual(['create_invoice'])
    expect(matched).toBe(1)
  })
})

describe('what a query in another language forbids', () => {
  const text = (query: string) => createTranslate(() => denying)(query, () => false)?.text
  it.each([
    'Lösche nichts, zeige die Zweige',
    'Zeige die Zweige, lösche nichts!',
    'ne supprime rien, affiche les rameaux',
    '不要删除，列出分支',
  ])('%s', (query) => {
    expect(text(query)).toBe('list branch, do not delete')
  })

  it('needs a part that wants to look, and one that denies', () => {
    expect(text('lösche die Zweige, zeige die Zweige')).toBe('delete branch list')
    expect(text('lösche nichts')).toBe('delete nothing')
    expect(text('lösche die Zweige, zeige nichts, zeige die Zweige')).not.toContain('do not delete')
  })

  it('a tool that does it does not come first', async () => {
    const tools = toolsOf(
      { name: 'delete_branch', description: 'Deletes a branch from the list.' },
      { name: 'list_branches', description: 'Lists branches.' },
    )
    const rank = createHybrid({ vectors: undefined, translate: createTranslate(() => denying) })
    const { hits } = await rank(tools, '不要删除，列出分支', 2)
    expect(hits[0]?.tool.name).toContain('list_branches')
  })
})
