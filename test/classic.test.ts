// The ranker of the documents: how names split, what each match is worth, and that the work is done once.
import { describe, expect, it } from 'vitest'
import type { Ranking, Tool } from '../packages/core/src/index.ts'
import { splitName } from '../packages/core/src/names.ts'
import { buildPool } from '../packages/core/src/pool.ts'
import { classicRank } from '../packages/core/src/query.ts'
import { ask } from '../packages/testkit/src/ask.ts'
import { builtIn, exampleTools, mcp, quietShelf } from '../packages/testkit/src/talk.ts'

const poolOf = (tools: readonly Tool[]) =>
  buildPool(tools, { descriptionLimit: 2048, reserved: [], warn: () => {} }).tools

/** Names with their scores, as the ranker gives them. */
function scores(tools: readonly Tool[], query: string, limit = 50): [string, number][] {
  const { hits } = classicRank(poolOf(tools), query, limit) as Ranking
  return hits.map(({ tool, score }) => [tool.name, score])
}

/** The score of one tool, 0 when it is dropped. */
const scoreOf = (tool: Tool, query: string) => scores([tool], query)[0]?.[1] ?? 0

const described = (description: string) => builtIn('Thing', { description, shouldDefer: true })

describe('names', () => {
  it.each([
    ['mcp__slack__send_message', ['slack', 'send', 'message']],
    ['NotebookEdit', ['notebook', 'edit']],
    ['HTTPServer2Get', ['http', 'server', '2', 'get']],
    ['mcp__chrome-devtools__click', ['chrome', 'devtools', 'click']],
    ['files.read/all now', ['files', 'read', 'all', 'now']],
    ['getURL', ['get', 'url']],
    ['XMLHttpRequest', ['xml', 'http', 'request']],
    ['v2api', ['v', '2', 'api']],
    ['s3GetObject', ['s', '3', 'get', 'object']],
    ['MCP__Linear__ListIssues', ['linear', 'list', 'issues']],
    ['mcp__a__mcp_b', ['a', 'mcp', 'b']],
    ['ПолучитьФайл', ['получить', 'файл']],
    ['__', []],
  ])('S5 %s splits into its words', (name, parts) => {
    expect(splitName(name)).toEqual(parts)
  })

  it('S5 the mcp prefix is neither a word nor a part of the full name', () => {
    expect(scores(exampleTools, 'mcp')).toEqual([])
    expect(scores(exampleTools, 'mc')).toEqual([])
    expect(scores(exampleTools, 'mcp__slack')).toEqual([
      ['mcp__slack__send_message', 12],
      ['mcp__slack__list_channels', 12],
    ])
  })
})

describe('points', () => {
  it('S6 the worked example', () => {
    expect(scores(exampleTools, 'slack send')).toEqual([
      ['mcp__slack__send_message', 24],
      ['mcp__slack__list_channels', 12],
      ['mcp__email__send_email', 12],
    ])
  })

  const notebook = builtIn('NotebookEdit', { description: '' })
  const hinted = builtIn('Board', { description: 'Moves cards.', searchHint: 'kanban cards' })

  it.each<[string, Tool, string, number]>([
    ['a name part equal, MCP', mcp('slack', 'send', { description: '' }), 'send', 12],
    ['a name part equal, built-in', notebook, 'edit', 10],
    ['a name part contains, MCP', mcp('slack', 'sending', { description: '' }), 'send', 6],
    ['a name part contains, built-in', notebook, 'note', 5],
    ['the full name contains, MCP', mcp('x', 'getV2', { description: '' }), 'getv2', 3],
    ['the full name contains, built-in', notebook, 'notebookedit', 3],
    ['a hint has the word', hinted, 'kanban', 4],
    ['a hint has only part of the word', hinted, 'kanba', 0],
    ['a description has the word', hinted, 'moves', 2],
    ['a description has only part of the word', hinted, 'move', 0],
    ['hint and description', hinted, 'cards', 6],
    ['name, hint and description', builtIn('Sum', { description: 'Sum it', searchHint: 'sum' }), 'sum', 16],
    [
      'full name, hint and description',
      { ...notebook, description: 'notebookedit', searchHint: 'notebookedit' },
      'notebookedit',
      9,
    ],
    ['several terms', notebook, 'notebook edit', 20],
    ['equal wins over contains', builtIn('EditEditor', { description: '' }), 'edit', 10],
    ['the full name while the score is still 0', notebook, 'notebooked edit', 13],
    ['the full name after points for the name', notebook, 'edit notebooked', 10],
    ['the full name, then the description', { ...notebook, description: 'bits' }, 'notebooked bits', 5],
    ['the description, then no full name', { ...notebook, description: 'bits' }, 'bits notebooked', 2],
    ['in any case', hinted, 'KANBAN Board', 14],
    ['nothing', hinted, 'unheard', 0],
  ])('S6 %s', (_, tool, query, score) => {
    expect(scoreOf(tool, query)).toBe(score)
  })

  it('S6 score 0 is dropped, best first, ties keep pool order, and the rest is counted', () => {
    const tools = ['e', 'd', 'c', 'b', 'a'].map((letter) => mcp(letter, 'send', { description: '' }))
    const better = mcp('mail', 'send', { description: 'send' })
    const other = mcp('mail', 'read', { description: '' })
    const ranking = classicRank(poolOf([...tools, other, better]), 'send', 4) as Ranking
    expect(ranking.hits.map(({ tool }) => tool.server)).toEqual(['mail', 'e', 'd', 'c'])
    expect(ranking.matched).toBe(6)
  })
})

describe('patterns', () => {
  it.each([
    ['c++', 'Builds C++ code.', 2],
    ['c++', 'Builds ccc code.', 0],
    ['f*', 'ffff', 0],
    ['f*', 'a glob f* here', 2],
    ['a|b', 'only b', 0],
    ['$100', 'costs $100 now', 2],
    ['^code', 'code', 0],
    ['\\d', 'the digit 5', 0],
    ['{2}', 'aa', 0],
    ['[a-z]', 'x', 0],
    ['(?:x', 'y', 0],
    ['.*', 'anything', 0],
    ['a－b', 'a to b', 4],
  ])('S6 the term %s is no pattern in "%s"', (query, description, score) => {
    expect(scoreOf(described(description), query)).toBe(score)
  })

  it.each([
    ['кот', 'который', 0],
    ['кот', 'мой кот.', 2],
    ['ber', 'über', 0],
    ['caf', 'café', 0],
    ['café', 'le café, ici', 2],
    ['send', 'calls send_message', 0],
    ['send', 'send2', 0],
    ['send', '"send"', 2],
    ['संदेश', 'एक संदेश भेजें', 2],
    ['संदेश', 'संदेशों', 0],
  ])('S6 word boundaries are those of any script: %s in "%s"', (query, description, score) => {
    expect(scoreOf(described(description), query)).toBe(score)
  })
})

describe('languages', () => {
  const texts: Record<string, string> = {
    Chinese: '向频道发送消息',
    Japanese: 'チャンネルの一覧を表示する',
    Korean: '파일을 다운로드합니다',
    Russian: 'Отправить СООБЩЕНИЕ в чат',
    French: 'Télécharge un résumé',
    Greek: 'Δημιουργεί ένα έγγραφο',
    Hindi: 'कैलेंडर में घटना जोड़ें',
    Arabic: 'يرسل رسالة',
    Hebrew: 'מחפש מסמך',
    Thai: 'ค้นหาเอกสาร',
    Mixed: '通过email通知团队',
    English: 'Naive search of invoices',
  }
  const tools = Object.entries(texts).map(([name, description]) =>
    builtIn(name, { description, shouldDefer: true }),
  )

  it.each([
    ['发送消息', 'Chinese'],
    ['消息', 'Chinese'],
    ['请发送一个消息', 'Chinese'],
    ['+消息', 'Chinese'],
    ['チャンネル 一覧', 'Japanese'],
    ['一覧を表示', 'Japanese'],
    ['ﾁｬﾝﾈﾙ', 'Japanese'],
    ['파일 다운로드', 'Korean'],
    ['отправить сообщение', 'Russian'],
    ['+СООБЩЕНИЕ', 'Russian'],
    ['resume', 'French'],
    ['télécharge'.normalize('NFD'), 'French'],
    ['+telecharge', 'French'],
    ['ΕΓΓΡΑΦΟ', 'Greek'],
    ['घटना', 'Hindi'],
    ['رسالة', 'Arabic'],
    ['מסמך', 'Hebrew'],
    ['เอกสาร', 'Thai'],
    ['email通知', 'Mixed'],
    ['团队 email', 'Mixed'],
    ['ｉｎｖｏｉｃｅｓ', 'English'],
    ['naïve', 'English'],
  ])('S14 "%s" finds the tool whose description names it in %s', async (query, name) => {
    for (const rank of [undefined, classicRank])
      expect((await ask(quietShelf({ tools, rank }), query)).names[0]).toBe(name)
  })

  it('S14 a hint in another language finds too', async () => {
    const hinted = [...tools, builtIn('Hinted', { searchHint: '天气 погода', shouldDefer: true })]
    for (const query of ['天气', 'ПОГОДА', '+погода', 'погода завтра'])
      expect((await ask(quietShelf({ tools: hinted }), query)).names[0]).toBe('Hinted')
  })
})

describe('work done once', () => {
  /** A tool that counts how often search reads its hint. */
  function countingTool(name: string) {
    const counting = { reads: 0 }
    const tool: Tool = Object.defineProperty(
      builtIn(name, { description: '', shouldDefer: true }),
      'searchHint',
      {
        get: () => {
          counting.reads++
          return 'kanban'
        },
      },
    )
    return { counting, tool }
  }

  it('S15 search texts are made once per pool', async () => {
    const { counting, tool } = countingTool('Board')
    const shelf = quietShelf({ tools: [tool, ...exampleTools] })
    const other = shelf.fork()
    for (const query of ['kanban', 'slack', '+kanban board', 'board'])
      for (const asked of [shelf, other]) await ask(asked, query)
    expect(counting.reads).toBe(1)
    shelf.add(mcp('late', 'tool'))
    for (const query of ['kanban', '+kanban']) expect((await ask(shelf, query)).names).toEqual(['Board'])
    expect(counting.reads).toBeLessThanOrEqual(2)
  })

  it('S15 a text that changed under an unchanged name is read anew', async () => {
    const tool = { ...builtIn('Board', { description: 'red', shouldDefer: true }) }
    const shelf = quietShelf({ tools: [tool, ...exampleTools] })
    expect((await ask(shelf, 'red')).names).toEqual(['Board'])
    shelf.add({ ...tool, description: 'green', searchHint: 'mauve' })
    expect((await ask(shelf, 'red')).names).toEqual([])
    expect((await ask(shelf, 'green')).names).toEqual(['Board'])
    expect((await ask(shelf, 'mauve')).names).toEqual(['Board'])
  })

  it('S15 so is one that the host changed in place', async () => {
    const tool: { description: string } & Tool = {
      ...builtIn('Board'),
      description: 'red',
      shouldDefer: true,
    }
    const shelf = quietShelf({ tools: [tool] })
    expect((await ask(shelf, 'red')).names).toEqual(['Board'])
    tool.description = 'green'
    shelf.add(tool)
    expect((await ask(shelf, 'red')).names).toEqual([])
    expect((await ask(shelf, 'green')).names).toEqual(['Board'])
  })

  /** How many patterns are compiled while this runs. */
  async function compiled(run: () => unknown): Promise<number> {
    const plain = globalThis.RegExp
    let count = 0
    globalThis.RegExp = new Proxy(plain, {
      construct: (target, values, newTarget) => {
        count++
        return Reflect.construct(target, values, newTarget)
      },
    })
    try {
      await run()
    } finally {
      globalThis.RegExp = plain
    }
    return count
  }

  it('S15 a pattern is compiled per term and search, not per tool', async () => {
    const many = Array.from({ length: 100 }, (_, index) => mcp('s', `tool_${index}`))
    for (const query of ['alpha beta gamma', '+alpha beta', '+tool', 'tool']) {
      const searching = (tools: Tool[]) =>
        compiled(() => ask(quietShelf({ tools, rank: classicRank }), query))
      const few = await searching(many.slice(0, 2))
      expect(few).toBeGreaterThan(0)
      expect(await searching(many)).toBe(few)
    }
    expect(await compiled(() => classicRank(poolOf(many), 'alpha', 5))).toBe(
      await compiled(() => classicRank(poolOf(many.slice(0, 1)), 'alpha', 5)),
    )
  })
})
