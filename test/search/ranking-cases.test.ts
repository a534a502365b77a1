// A small catalogue and queries of every kind: how each is understood, what it finds, in which order and why. Where the
// ranking changes on purpose, `npx vitest run -u` writes the tables anew; read the difference.
import { beforeAll, describe, expect, it } from 'vitest'
import { explainHits, explainHybrid, rankers, translateQuery } from '../../src/rankers/index.ts'
import {
  actionOfTool,
  createLexicalIndex,
  LEXICAL,
  PLAIN_BM25,
  readIntent,
  splitWords,
} from '../../src/search/index.ts'
import { type Spec, toolsOf } from './tools.ts'

const spec = (server: string, name: string, description: string, more: Partial<Spec> = {}): Spec => ({
  ...{ name: `mcp__${server}__${name}`, server, description },
  ...more,
})
const text = (description: string) => ({ type: 'string', description })
const tools = toolsOf(
  spec('slack', 'send_message', 'Sends a message to a channel.', {
    arguments: { channel: text('Where to post'), text: {} },
  }),
  spec('slack', 'list_channels', 'Lists the channels of a workspace.'),
  spec('slack', 'deleteMessage', 'Removes a message. Cannot be undone.'),
  spec('email', 'send_email', 'Sends an e-mail to recipients.', {
    arguments: { recipients: text('Addresses'), subject: {} },
  }),
  spec('email', 'search_inbox', 'Finds mails by sender, subject or date.', {
    searchHint: 'letters, correspondence',
  }),
  spec('github', 'create_issue', 'Opens an issue in a repository.', {
    arguments: { repo: text('owner/name'), labels: { enum: ['bug', 'feature'] } },
  }),
  spec('github', 'list_issues', 'Lists issues. Deprecated: use search_issues instead.'),
  spec('github', 'search_issues', 'Searches issues and pull requests by keywords.'),
  spec('github', 'delete_branch', 'Removes a branch from a repository.'),
  spec('github', 'merge_pull_request', 'Merges a pull request.'),
  spec('calendar', 'create_event', 'Adds an event to a calendar.', {
    arguments: { start: text('Start time'), attendees: {} },
  }),
  spec('calendar', 'update_event', 'Reschedules or renames an event.'),
  spec('calendar', 'get_free_busy', 'Tells when people are free or busy.'),
  spec('stripe', 'create_invoice', 'Creates an invoice for a customer.'),
  spec('stripe', 'refund_payment', 'Refunds a payment.'),
  spec('stripe', 'list_customers', 'Lists customers.'),
  spec('aws-s3', 'put_object', 'Uploads a file to a bucket.'),
  spec('aws-s3', 'get_object', 'Downloads a file from a bucket.'),
  spec('weather', 'get_forecast', 'Weather forecast for the next days: temperature, rain, wind.'),
  spec('db', 'run_sql', 'Runs an SQL query against Postgres.'),
  spec('db', 'describe_table', 'Columns and types of a table.'),
  spec('monday', 'create_item', 'Creates an item on a board.'),
  spec('linear', 'create_issue', 'Creates an issue in a team.'),
  spec('maps', 'geocode', 'Turns an address into coordinates.'),
  { name: 'WebFetch', description: 'Fetches a page from the web and reads it.' },
  { name: '送信', server: 'jp', description: 'メッセージを送信します。' },
)
const queries = [
  'send a message',
  'post to the #general channel',
  'message',
  'send messge',
  'slack',
  'mail',
  'write to bob by email',
  'letters',
  'correspondence',
  'open an issue',
  'file a bug',
  'create issue in linear',
  'bug label',
  'list issues',
  'delete the branch',
  'get rid of a branch',
  'do not delete anything, just list the channels',
  'merge PR',
  'mergePullRequest',
  'schedule a meeting on monday',
  'move the meeting to friday',
  'is alice free tomorrow?',
  'invoice. then send an email',
  'bill a client',
  'give the money back',
  'upload file to s3',
  'S3 download',
  'put_object',
  'will it rain?',
  'temperature',
  'postgres columns',
  'run a select query',
  'latitude of an address',
  'read https://example.com/page',
  'fetch',
  'who are our customers',
  'custmers list',
  'eine Rechnung für den Kunden erstellen',
  'enviar un correo',
  '发送消息',
  'メッセージを送信',
  'отправить письмо',
  'the a of to',
  '',
  'zzzz qqqq',
  'issue issue issue',
  'create create_event event',
  "don't send, only search the inbox",
  'please could you create an event and an invoice',
  'recipients subject',
]
const round = (value: number) => Number(value.toPrecision(3))
const short = (name: string) => name.replace('mcp__', '')
const written = (lines: readonly string[]) => `${lines.join('\n')}\n`
const file = (name: string) => `./rankings/${name}.txt`

describe('queries of every kind', () => {
  it('are understood: what is wanted, what is forbidden, which words count', async () => {
    const lines = queries.map((query) => {
      const { text, words, wanted, forbidden } = readIntent(query)
      const said = [text === query ? '' : `text ${text}`, words === text ? '' : `words ${words}`].filter(
        Boolean,
      )
      const actions = `wants ${[...wanted].join(', ')}; forbids ${[...forbidden].join(', ')}`
      return `${query}\n  ${[...said, actions, splitWords(query).join(' ')].join('\n  ')}`
    })
    const actions = tools.map((tool) => `${short(tool.name)}: ${actionOfTool(tool)}`)
    await expect(written([...actions, '', ...lines])).toMatchFileSnapshot(file('understood'))
  })

  it.each([
    ['lexical', LEXICAL],
    ['bm25', PLAIN_BM25],
  ])('find tools by words, each with its reasons: %s', async (name, settings) => {
    const index = createLexicalIndex(tools, settings)
    const lines = queries.flatMap((query) => {
      const { hits, matched } = index.search(query, 4)
      const found = hits.map(({ document, score }) => {
        const reasons = index.explain(tools[document]!, query).map(({ word, term, how, amount, fields }) => {
          const places = fields.map(({ field, amount: part }) => `${field} ${round(part)}`)
          return `${word}→${term} ${how} ${round(amount)} (${places.join(', ')})`
        })
        return `  ${round(score)} ${short(tools[document]!.name)}: ${reasons.join('; ')}`
      })
      return [`${query} (${matched()})`, ...found]
    })
    await expect(written(lines)).toMatchFileSnapshot(file(name))
  })

  // Reads the table of word vectors, which takes longer than all searches together.
  beforeAll(async () => void (await rankers.hybrid(tools, 'ready', 1)))
  const halves = [queries.slice(0, 25), queries.slice(25)]
  it.each([0, 1])('find tools by words and meaning, in every language: half %i', async (half) => {
    const index = createLexicalIndex(tools, LEXICAL)
    const lines: string[] = []
    for (const query of halves[half]!) {
      const { hits, matched, ranker } = await rankers.hybrid(tools, query, 3)
      const parts = await explainHybrid(
        index,
        query,
        hits.map(({ tool }) => tool),
      )
      const translation = translateQuery(index, query)
      lines.push(`${query} (${matched}, ${ranker})${translation ? ` ${JSON.stringify(translation)}` : ''}`)
      for (const { tool, score } of hits) {
        const why = (parts.get(tool) ?? []).map(
          ({ name, value, amount }) => `${name} ${round(value)} +${round(amount)}`,
        )
        lines.push(`  ${round(score)} ${short(tool.name)} ${why.join(', ')}`)
      }
    }
    await expect(written(lines)).toMatchFileSnapshot(file(`hybrid-${half}`))
  })

  it('are explained in both languages, by words and by the parts of a score', async () => {
    const index = createLexicalIndex(tools, LEXICAL)
    const mail = tools.find(({ name }) => name === 'mcp__email__send_email')!
    for (const [query, language] of [
      ['send an email', undefined],
      ['enviar un correo a recipients', 'es'],
    ] as const) {
      const { translation, whys } = await explainHits(tools, query, [mail], 'hybrid')
      const english = translation?.text ?? query
      const texts = [...new Set([query, english])]
      expect(translation?.language).toBe(language)
      expect(whys.get(mail)).toEqual({
        words: texts.flatMap((text) => index.explain(mail, text)),
        parts: (await explainHybrid(index, english, [mail])).get(mail),
      })
      expect(whys.get(mail)?.parts.length).toBeGreaterThan(3)
    }
  })

  it('find the best of many tools, and every word of a long text', async () => {
    const verbs = 'create list delete update send search upload download archive share rename export'.split(
      ' ',
    )
    const nouns = 'invoice message branch file customer event ticket report photo table playlist'.split(' ')
    const many = toolsOf(
      ...verbs.flatMap((verb) =>
        nouns.map((noun) =>
          spec('box', `${verb}_${noun}`, `${verb} a ${noun} in the box and keep the ${nouns[0]}`),
        ),
      ),
    )
    const wanted = [
      'delete the photo',
      'new ticket',
      'give me all playlists',
      'mp3 songs',
      'picture',
      'mv file',
      'box',
    ]
    const lines: string[] = []
    for (const query of wanted)
      for (const ranker of ['hybrid', 'lexical', 'bm25'] as const)
        for (const limit of [1, 5]) {
          const { hits, matched } = await rankers[ranker](many, query, limit)
          lines.push(
            `${query}, ${ranker}: ${hits.map(({ tool }) => short(tool.name)).join(' ')} (${matched})`,
          )
        }
    const words = Array.from({ length: 3000 }, (_, index) => `w${index}x`)
    const long = toolsOf(spec('box', 'long', words.join(' ')), spec('box', 'other', 'nothing'))
    const index = createLexicalIndex(long, LEXICAL)
    const found = words.filter(
      (word, place) => place % 60 === 0 && index.search(word, 1).hits[0]?.document === 0,
    )
    await expect(written([...lines, `${found.length} words`])).toMatchFileSnapshot(file('many'))
  })

  it('match as regular expressions of Python do', async () => {
    const patterns = [
      'send',
      '^mcp__slack',
      '[\\w-]+_issue',
      '\\bE-?MAIL\\b',
      'Cannot',
      'owner/name',
      'repo',
      'zzz',
      '\\Z',
      'event\\Z',
      '[]x]',
      '[^]a-z_]',
      '\\d',
      '\\D\\W',
      '送信',
      '[\\d送]',
      'a\\',
      '(',
      '',
      'x'.repeat(201),
      '(?P<n>list)_',
      '\\w+\\s\\w+\\.',
    ]
    const lines: string[] = []
    for (const pattern of patterns) {
      // An invalid pattern throws at once.
      const { hits, matched, fault } = await (async () => rankers.regex(tools, pattern, 3))().then(
        (ranking) => ({ ...ranking, fault: '' }),
        (error: Error) => ({ hits: [], matched: 0, fault: error.message }),
      )
      const found = hits.map(({ tool, score }) => `${short(tool.name)} ${score}`)
      lines.push(`${pattern.slice(0, 20)}: ${fault || `${matched} ${found.join(', ')}`}`)
    }
    await expect(written(lines)).toMatchFileSnapshot(file('regex'))
  })
})
