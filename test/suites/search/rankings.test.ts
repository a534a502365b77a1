// The order in which every ranker finds the tools of a small catalogue, for queries of every kind. What the model reads of a search
// is this order: where it changes on purpose, `npx vitest run -u` writes the table anew; read the difference.
import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { createShelf, type PoolTool, rankers, type Tool } from '../../doors.ts'

type Spec = Omit<Tool, 'input_schema'> & { readonly arguments?: Readonly<Record<string, object>> }

const spec = (server: string, name: string, description: string, more: Partial<Spec> = {}): Spec => ({
  ...{ name, server, description },
  ...more,
})

/** The tools as a shelf hands them to a ranker. */
function poolOf(...specs: readonly Spec[]): readonly PoolTool[] {
  const tools = specs.map(({ arguments: properties = {}, ...tool }) => ({
    ...tool,
    input_schema: { type: 'object', properties },
  }))
  return createShelf({ tools }).tools()
}

const text = (description: string) => ({ type: 'string', description })
const tools = poolOf(
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
const short = (name: string) => name.replace('mcp__', '')
const digest = (value: unknown) =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 12)

type RankerName = 'hybrid' | 'lexical' | 'bm25' | 'classic' | 'regex'

async function ranked(ranker: RankerName, list: readonly PoolTool[], query: string, limit: number) {
  const { hits, matched } = await rankers[ranker](list, query, limit)
  return {
    found: hits.map(({ tool, score }) => [short(tool.name), Number(score.toPrecision(9))] as const),
    matched,
  }
}

describe('S7 S14 queries of every kind', () => {
  // Reads the table of word vectors, which takes longer than all searches together.
  beforeAll(async () => void (await rankers.hybrid(tools, 'ready', 1)))

  it('S7 S14 wire 20 find their tools, by words, by meaning and as patterns', async () => {
    const lines: string[] = []
    for (const query of queries) {
      const { found, matched } = await ranked('hybrid', tools, query, 3)
      lines.push(
        `${query} (${matched}): ${found.map(([name, score]) => `${name} ${score.toPrecision(3)}`).join(', ')}`,
      )
    }
    const verbs = 'create list delete update send search upload download archive share rename export'.split(
      ' ',
    )
    const nouns = 'invoice message branch file customer event ticket report photo table playlist'.split(' ')
    const many = poolOf(
      ...verbs.flatMap((verb) =>
        nouns.map((noun) =>
          spec('box', `${verb}_${noun}`, `${verb} a ${noun} in the box and keep the ${nouns[0]}`),
        ),
      ),
    )
    for (const query of [
      'delete the photo',
      'new ticket',
      'give me all playlists',
      'picture',
      'mv file',
      'box',
    ]) {
      const { found, matched } = await ranked('hybrid', many, query, 5)
      lines.push(`of many, ${query} (${matched}): ${found.map(([name]) => name).join(', ')}`)
    }
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
    for (const pattern of patterns) {
      // An invalid pattern throws at once.
      const said = await ranked('regex', tools, pattern, 3)
        .then(({ found, matched }) => `${matched} ${found.map(([name]) => name).join(', ')}`)
        .catch((error: Error) => error.message)
      lines.push(`/${pattern.slice(0, 20)}/: ${said}`)
    }
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('./rankings.txt')
  })

  it.each([
    ['hybrid', 'f1dae51827c4'],
    ['lexical', '31f290d5d15e'],
    ['bm25', '3ded34003813'],
    ['classic', '7ac4fdc8f1be'],
  ] as const)('S7 rank with exactly these scores: %s', async (ranker, expected) => {
    const all = []
    for (const query of queries) all.push(await ranked(ranker, tools, query, 10))
    expect(digest(all)).toBe(expected)
  })

  it('S7 find every word of a long text', async () => {
    const words = Array.from({ length: 3000 }, (_, index) => `w${index}x`)
    const long = poolOf(spec('box', 'long', words.join(' ')), spec('box', 'other', 'nothing'))
    let found = 0
    for (const word of words.filter((_, place) => place % 60 === 0))
      if ((await ranked('lexical', long, word, 1)).found[0]?.[0] === 'box__long') found++
    expect(found).toBe(50)
  })
})

describe('S7 what a sentence asks for', () => {
  const mail = poolOf(
    spec('mail', 'send_draft', 'Sends a draft email.'),
    spec('mail', 'delete_draft', 'Deletes a draft email.'),
    spec('mail', 'update_draft', 'Changes a draft email.'),
    spec('mail', 'list_drafts', 'Lists the draft emails.'),
    spec('calendar', 'create_event', 'Adds an event to the calendar.'),
    spec('calendar', 'delete_event', 'Removes an event from the calendar.'),
    spec('calendar', 'list_events', 'Lists the events of the calendar.'),
    spec('monday', 'move_item', 'Moves an item to another board.'),
    spec('files', 'purge', 'Purges backups.', { annotations: { destructiveHint: true } }),
    spec('files', 'getAPIs', 'Interfaces of a host.', { arguments: { hosts: { items: text('Zebra') } } }),
    spec('github', 'list_review_comments_on_pull_request', 'Lists the review comments on a pull request.'),
    spec('github', 'list_pull_requests', 'Lists the pull requests of a repository.'),
    spec('github', 'get_pull_request', 'Returns one pull request.'),
  )

  it.each([
    ["show my draft emails, don't send any", 'list_drafts'],
    ['which draft emails are there', 'list_drafts'],
    ['look at the calendar events without deleting any', 'list_events'],
    ['schedule a meeting tomorrow at 3pm', 'create_event'],
    ['get rid of the draft email', 'delete_draft'],
    ['which pull requests wait for my review', 'list_pull_requests'],
    ['list the review comments of the pull request', 'list_review_comments_on_pull_request'],
    ['apis', 'getAPIs'],
    ['zebra', 'getAPIs'],
  ])('S7 %s', async (query, expected) => {
    const { hits } = await rankers.hybrid(mail, query, 1)
    expect(hits[0]?.tool.original).toBe(expected)
  })
})
