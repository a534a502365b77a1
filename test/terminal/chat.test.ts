// A chat in a real terminal: what a person types and sees.
import { describe, expect, it } from 'vitest'
import {
  keys,
  newPlace,
  noTerminal,
  open,
  openHere,
  type Place,
  rest,
  type Size,
  shareScreen,
} from './support.ts'

const rules = [
  { when: '^hello', do: [{ say: 'Good morning.' }] },
  {
    when: 'read all',
    do: [
      { say: 'I look.' },
      {
        calls: [
          { call: 'Read', input: { path: 'a.txt' } },
          { call: 'Read', input: { path: 'b.txt' } },
          { call: 'Read', input: { path: 'script.json' } },
          { call: 'Grep', input: { pattern: 'alpha' } },
          { call: 'Grep', input: { pattern: 'beta' } },
        ],
      },
      { say: 'Read.' },
    ],
  },
  {
    when: 'move it',
    do: [{ call: 'Move', input: { from: 'c.txt', to: 'd.txt' }, search: 'move file' }, { say: 'Moved.' }],
  },
  { when: 'read none', do: [{ call: 'Read', input: { path: 'none.txt' } }, { say: 'Not read.' }] },
  {
    when: 'which ci',
    do: [{ call: 'Bash', input: { command: 'echo CI is $CI' } }, { say: 'Heard: {{result}}' }],
  },
  { when: 'find move', do: [{ search: 'move file' }, { say: 'Found.' }] },
  { when: 'shout', do: [{ call: 'Bash', input: { command: 'echo loud' } }, { say: 'Heard: {{result}}' }] },
  {
    when: 'both',
    do: [
      {
        calls: [
          { call: 'Bash', input: { command: 'echo first' } },
          { call: 'Bash', input: { command: 'echo second' } },
        ],
      },
      { say: 'Both are over.' },
    ],
  },
  {
    when: 'steer',
    do: [
      { call: 'Bash', input: { command: `echo ${'x'.repeat(6000)}; printf '\u001b[2J\u202e'` } },
      { say: 'Over.' },
    ],
  },
  { when: 'recite', do: [{ say: Array.from({ length: 90 }, (_, index) => `line ${index + 1}`).join('\n') }] },
  { when: 'Summarise this conversation', do: [{ say: 'They greeted.' }] },
]

/** A chat that has reported its servers; `isProcess` starts the binary. */
async function chat(
  { isProcess, ...size }: Size & { readonly isProcess?: boolean } = {},
  script: object = {},
  place: Place = newPlace(),
) {
  place.file('a.txt', 'alpha')
  place.file('b.txt', 'beta')
  place.file('c.txt', 'gamma')
  const file = place.file('script.json', { rules, otherwise: 'I heard: {{user}}', ...script })
  const screen = (isProcess ? open : openHere)(place, ['chat', '--script', file], size)
  await screen.shows(/Servers +none/)
  return Object.assign(screen, { place })
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the colours
const PAINTED = /\u001b\[(3|9)\d/

describe('toolshelf chat', () => {
  const shared = shareScreen(() => chat({ rows: 50, isShared: true }))

  it('welcomes with the model, the folder, the session and the servers', async () => {
    const screen = shared()
    const welcome = screen.scrolled()
    expect(welcome).toMatch(/Toolshelf chat with the script .*script\.json, no\s+model/s)
    expect(welcome).toContain(`Folder    ${screen.place.folder}`)
    expect(welcome).toMatch(/Session {3}.*sessions/)
    expect(welcome).toContain('/help shows the commands')
    await screen.enter('/compact')
    await screen.shows('There is nothing to summarise yet.')
  })

  it('/context estimates the next request where none was sent, and leaves the conversation as it is', async () => {
    const screen = shared()
    await screen.enter('/context')
    const text = await screen.shows('deferred, not in it')
    expect(text).toMatch(/\d % of 200,000 tokens, as your next message will be sent/)
    expect(text).toMatch(/tools always there +[\d,]{4,} +\d\.\d %/)
    expect(text).toMatch(/conversation +0 +0\.0 %/)
    screen.wipe()
    await screen.enter('/tools')
    expect(await screen.shows(/Pending +none/)).toMatch(/Loaded +none/)
  })

  it('/context draws what fills the window, the deferred apart', async () => {
    const screen = shared()
    await screen.enter('hello')
    await screen.shows(/\d out/)
    await screen.enter('/context')
    const text = await screen.shows('deferred, not in it')
    expect(text).toMatch(/\d % of 200,000 tokens, as your last message was sent \(an estimate\):/)
    expect(text).toMatch(/▓█+▒░{10}/)
    expect(text).toMatch(/tools always there +[\d,]+ +\d\.\d %/)
    expect(text).toMatch(/deferred, not in it +\d+ +5 tools on the shelf/)
  })

  it('/tools lists the working set, what was loaded, and what is deferred', async () => {
    const screen = shared()
    await screen.enter('/tools')
    const before = await screen.shows(/Pending +none/)
    expect(before).toMatch(/Working set +Agent, Bash, Edit, Glob, Grep, Read, ReadResult, Write/)
    expect(before).toMatch(/Loaded +none/)
    expect(before).toMatch(/Deferred +built-in 5/)
    await screen.enter('move it')
    await screen.shows('[y] yes')
    screen.type('y')
    await screen.shows('Moved.')
    screen.wipe()
    await screen.enter('/tools')
    expect(await screen.shows(/Loaded +[^n]*Move/)).not.toMatch(/Deferred +built-in 5\n/)
  })

  it('loads a tool that a message names, and /tools says so', async () => {
    const screen = shared()
    await screen.enter('hello, is there CallTools?')
    await screen.shows('Good morning.')
    await screen.enter('/tools')
    await screen.shows(/Loaded .*CallTools \(you named it\)/)
  })

  it('P1 sums calls up, and shows no search for tools', async () => {
    const screen = shared()
    await screen.enter('read all')
    const read = await screen.shows(/Read\.\n/)
    expect(read).toContain('Read 3 files, searched 2 files')
    expect(read).not.toContain('failed')
    await screen.enter('read none')
    await screen.shows('Read 1 file (1 failed)')
    await screen.enter('find move')
    const text = await screen.shows('Found.')
    expect(text).not.toContain('ToolSearch')
    expect(text).not.toContain('move file')
  })

  it('P2 /verbose shows searches and results in full', async () => {
    const screen = shared()
    await screen.enter('/verbose')
    await screen.shows('Calls are now shown with their results')
    await screen.enter('find move')
    const text = await screen.shows(/Found\./)
    expect(text).toMatch(/● ToolSearch\(query: "move file"/)
    await screen.enter('/verbose')
    await screen.shows('searches hidden')
  })

  it('a question cannot steer the terminal, and shows that it was cut if it does not fit', async () => {
    const screen = shared()
    await screen.enter('steer')
    const text = await screen.shows('[y] yes')
    expect(text).toMatch(/… and \d+ more characters that do not fit here/)
    screen.type('n')
    await screen.shows('Over.')
    expect(screen.raw()).not.toContain('\u202e')
  })

  it('asks before a tool runs: yes, no, and always', async () => {
    const screen = shared()
    await screen.enter('shout')
    expect(await screen.shows('[y] yes')).toContain('command: echo loud')
    screen.type('n')
    await screen.shows('Heard: The user does not allow this call.')
    await screen.enter('shout')
    await screen.shows('[y] yes')
    screen.type('y')
    await screen.shows('Heard: loud')
    await screen.enter('shout')
    await screen.shows('[y] yes')
    screen.type('a')
    await screen.shows(/Heard: loud.*Heard: loud/s)
    await screen.enter('shout')
    await screen.shows(/Heard: loud.*Heard: loud.*Heard: loud/s)
    expect(screen.text()).not.toContain('Allow Bash?')
  })

  it('asks for two calls one after the other, and "always" holds for what was asked', async () => {
    const screen = shared()
    await screen.enter('both')
    // Both are looked at side by side: on a busy machine the second may be asked about first.
    const asked = await screen.shows(/\(1 more to answer\).*\[y\] yes/s)
    const [allowed, refused] = asked.includes('│ command: echo first')
      ? ['first', 'second']
      : ['second', 'first']
    expect(asked).toContain(`│ command: echo ${allowed}`)
    screen.type('y')
    expect(await screen.shows(/Allow Bash\?\s+│.*\[y\] yes/s)).toContain(`│ command: echo ${refused}`)
    screen.type('n')
    const answered = await screen.shows('Both are over.')
    expect(answered).toContain(`● Bash(command: "echo ${allowed}")`)
    expect(answered).toContain(`✗ Bash(command: "echo ${refused}")`)
    await screen.enter('both')
    await screen.shows(/\(1 more to answer\).*\[y\] yes/s)
    screen.type('a')
    await screen.shows(/Allow Bash\?\s+│.*\[y\] yes/s)
    screen.type('a')
    await screen.shows(/Both are over.*Both are over/s)
    await screen.enter('both')
    await screen.shows(/Both are over.*Both are over.*Both are over/s)
  })

  it('a long answer is all there to scroll to, once', async () => {
    const screen = shared()
    await screen.enter('recite')
    await screen.shows(/line 90\n.*\d out/s)
    const lines = screen
      .scrolled()
      .split('\n')
      .filter((line) => /^line \d+$/.test(line))
    expect(lines).toEqual(Array.from({ length: 90 }, (_, index) => `line ${index + 1}`))
  })

  it('goes through what was typed with the arrow keys, and keeps the draft', async () => {
    const screen = shared()
    await screen.enter('first one')
    await screen.shows(/I heard: first one.*\d out/s)
    await screen.enter('second one')
    await screen.shows(/I heard: second one.*\d out/s)
    screen.type('draft')
    await screen.shows('> draft')
    screen.type(keys.up)
    await screen.shows(/> second one.*> second one/s)
    screen.type(keys.up)
    await screen.shows(/> first one.*> first one/s)
    screen.type(keys.down + keys.down)
    await screen.shows('> draft')
    screen.type(`${keys.backspace}${keys.backspace}ove\r`)
    await screen.shows('I heard: draove')
  })

  it('takes long lines, wide characters and pastes of many lines', async () => {
    const screen = shared()
    const long = Array.from({ length: 40 }, (_, index) => `word${index}`).join(' ')
    await screen.enter(long)
    await screen.shows(/I heard: word0.*word39.*\d out/s)
    await screen.enter('日本語と👨‍👩‍👧とé')
    await screen.shows('I heard: 日本語と👨‍👩‍👧とé')
    screen.type(`x👨‍👩‍👧${keys.backspace}y${keys.left}z`)
    await screen.shows('> xzy')
    screen.type('\u0005\r')
    await screen.shows('I heard: xzy')
    screen.type(keys.paste('one\ntwo\nthree\n'))
    await screen.shows(/> one\n +two\n +three/)
    screen.type('\r')
    await screen.shows(/I heard: one\ntwo\nthree/)
  })

  it('takes keys that come all at once: a line and its Enter, and the next words behind an Enter', async () => {
    const screen = shared()
    screen.type(`abc${keys.backspace}${keys.backspace}xy\r`)
    await screen.shows(/I heard: axy.*\d out/s)
    screen.type('first')
    await screen.shows('> first')
    screen.type('\rnext')
    await screen.shows(/I heard: first.*> next/s)
    screen.type(keys.ctrlU)
    await screen.hides('> next')
  })

  it('/compact summarises, and the session continues', async () => {
    const screen = shared()
    for (const word of ['one', 'two', 'three']) {
      await screen.enter(`hello ${word}`)
      await screen.shows(new RegExp(`hello ${word}\\n.*Good morning.*\\d out`, 's'))
    }
    await screen.enter('/compact')
    await screen.shows('The older part of the conversation was summarised.')
    await screen.shows(/The conversation took about [\d,]+ tokens; now it takes about [\d,]+\./)
    await screen.enter('still there?')
    await screen.shows('I heard: still there?')
  })

  it('/search, /skills, /model, /help and a wrong command answer in a line or a few', async () => {
    const screen = shared()
    await screen.enter('/search move a file')
    await screen.shows(/Move +\S/)
    await screen.enter('/search')
    await screen.shows('Add words to search for')
    await screen.enter('/skills')
    await screen.shows('No skills found.')
    await screen.enter('/model')
    await screen.shows('The model is toolshelf-script.')
    await screen.enter('/model claude-next')
    await screen.shows('The model is now claude-next.')
    await screen.enter('/help')
    expect(await screen.shows('↑ and ↓')).toMatch(/\/compact +summarise/)
    await screen.enter('/nope')
    await screen.shows('Unknown command /nope. /help shows them all.')
    await screen.enter('/tool')
    await screen.shows('Unknown command /tool; did you mean /tools? /help shows them all.')
    for (const far of ['servers', 'cost']) {
      await screen.enter(`/${far}`)
      await screen.shows(`Unknown command /${far}. /help shows them all.`)
    }
    await screen.enter('/etc/hosts is a path')
    await screen.shows('I heard: /etc/hosts is a path')
  })
})

describe('toolshelf chat with a model that takes its time', () => {
  const shared = shareScreen(() => chat({ isShared: true }, { delay: 150 }))

  it('streams the model’s reply, and reports its cost', async () => {
    const screen = shared()
    await screen.enter('say one two three four five six')
    const early = await screen.shows(/I heard: say one(?!.*\d+ out)/s)
    expect(early).toMatch(/answering · \d+ s · Ctrl-C stops/)
    const late = await screen.shows(/\d\.\d s · [\d,]+ tokens in, \d+ out/)
    expect(late).toContain('I heard: say one two three four five six')
    expect(late).not.toContain('Ctrl-C stops')
  })

  it('keeps what is typed while a turn runs or a question is asked', async () => {
    const screen = shared()
    await screen.enter('say one two three four five')
    await screen.shows('Ctrl-C stops')
    screen.type('next words\r')
    await screen.shows('> next words')
    await screen.shows(/\d out.*> next words/s)
    screen.type('\r')
    await screen.shows('I heard: next words')
  })

  it('takes no answer from words that are being typed when it asks', async () => {
    const screen = shared()
    await screen.enter('shout')
    screen.type('m')
    await screen.shows('> m')
    await screen.shows('Allow Bash?')
    screen.type('any')
    const text = await screen.shows('[y] yes')
    expect(text).toContain('Allow Bash?')
    screen.type('n')
    await screen.shows(/does not allow this call.*> many/s)
  })
})

it('edits the line where the cursor is', async () => {
  const screen = await chat()
  for (const key of [
    'bcx',
    keys.left,
    '\u000b',
    '\u0001',
    'a',
    '\u0005',
    'd e',
    '\u001b',
    keys.left,
    keys.left,
    '\u001b[C',
    '-',
  ]) {
    screen.type(key)
    await rest(30)
  }
  await screen.shows('> abcd -e')
  screen.type('\u0017f ')
  await screen.shows('> abcd f e')
})

describe.skipIf(noTerminal)('toolshelf chat in a process of its own', () => {
  const shared = shareScreen(() =>
    chat({ columns: 80, rows: 30, isProcess: true, isShared: true }, {}, newPlace({ CI: 'true' })),
  )

  it('works where CI is set, and leaves it set, and has colours', async () => {
    const screen = shared()
    expect(screen.raw()).toMatch(PAINTED)
    await screen.enter('which ci')
    await screen.shows('[y] yes')
    screen.type('y')
    await screen.shows(/Heard: CI is true.*\d out/s)
  })

  it('a narrower and a wider terminal garble nothing', async () => {
    const screen = shared()
    await screen.enter('say one two three four five six seven eight nine ten eleven')
    await screen.shows(/\d out/)
    await screen.enter('shout')
    await screen.shows('Allow Bash?')
    screen.resize(40, 30)
    await screen.shows(/╭─{38}╮\n/)
    // The frame is drawn first, then the earlier messages; anything drawn twice follows within a moment.
    await screen.shows('I heard:')
    await rest(300)
    const narrow = screen.text()
    expect(narrow.match(/Allow Bash\?/g)).toHaveLength(1)
    expect(narrow.match(/╭/g)).toHaveLength(1)
    expect(narrow.match(/I heard:/g)).toHaveLength(1)
    screen.resize(120, 30)
    await screen.shows(/╭─{118}╮\n.*\[y\] yes/s)
    expect(screen.text().match(/Allow Bash\?/g)).toHaveLength(1)
    screen.type('y')
    await screen.shows('Heard: loud')
    await screen.hides('Allow Bash?')
    await screen.enter('hello')
    await screen.shows(/Good morning.*\d out/s)
    // On a slow machine the first line has scrolled out of sight by now; it must not be there twice.
    expect(screen.text().split('/help shows the commands').length).toBeLessThanOrEqual(2)
  })
})
