// What a model says is Markdown: how it looks, what is left alone, and that nothing of it is lost.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { markdownLines } from '../../packages/cli/src/chat/markdown.ts'
import { brokenSpans, type Looks, plainText, type StyledLine } from '../../packages/cli/src/chat/styled.ts'
import { columnsOf } from '../../packages/cli/src/terminal/pen.ts'
import { runs } from '../../packages/testkit/src/runs.ts'
import { type HereSize, newPlace, noTerminal, open, openHere } from './support.ts'

/** Looks as marks, so that a line can be compared with a text. */
function drawn({ lead = '', hasEdge, indent = 0, spans }: StyledLine): string {
  const text = spans
    .map(({ text, ...looks }) => `${marksOf(looks)}${text}${marksOf(looks) && '</>'}`)
    .join('')
  return `${' '.repeat(indent)}${hasEdge ? '│ ' : ''}${lead}${text}`
}

function marksOf({ bold, italic, underline, strikethrough, dim, color }: Looks): string {
  const marks = [bold && 'b', italic && 'i', underline && 'u', strikethrough && 's', dim && 'd', color]
  const names = marks.filter((mark) => mark)
  return names.length === 0 ? '' : `<${names.join(' ')}>`
}

const drawing = (text: string, isOpen = false) => markdownLines(text, 80, isOpen).map(drawn)

describe('Markdown', () => {
  it.each([
    ['plain words', 'plain words'],
    ['# Title', '<b u>Title</>'],
    ['### Part *three*', '<b>Part </><b i>three</>'],
    ['#hashtag', '#hashtag'],
    ['**bold** and *italic* and ***both***', '<b>bold</> and <i>italic</> and <b i>both</>'],
    ['**bold with *italic* inside**', '<b>bold with </><b i>italic</><b> inside</>'],
    ['**bold *italic***', '<b>bold </><b i>italic</>'],
    ['_italic_ and __two words__', '<i>italic</> and <b>two words</>'],
    ['中文**重点**内容', '中文<b>重点</>内容'],
    ['~~gone~~ ~kept~', '<s>gone</> ~kept~'],
    ['run `npm i`, ``a ` b``', 'run <cyan>npm i</>, <cyan>a ` b</>'],
    ['`**not bold**`', '<cyan>**not bold**</>'],
    ['**`both`**', '<b cyan>both</>'],
    ['[text](https://a.example/b_(c)) end', '<u>text</><d> (https://a.example/b_(c))</> end'],
    ['[https://a.example](https://a.example)', '<u>https://a.example</>'],
    ['![picture](a.png) [x] [y]: z', '![picture](a.png) [x] [y]: z'],
    ['- one', '• one'],
    ['  * two **b**', '  • two <b>b</>'],
    ['+ added', '+ added'],
    ['12. twelve', '12. twelve'],
    ['> quoted *so*', '│ quoted <i>so</>'],
    ['> - listed', '│ • listed'],
    ['---', `<d>${'─'.repeat(24)}</>`],
    ['\\*stars\\* and \\(x\\) and C:\\dir', '*stars* and \\(x\\) and C:\\dir'],
  ])('%s', (text, expected) => {
    expect(drawing(text)).toEqual([expected])
  })

  it.each([
    'snake_case_words and __init__ and _private',
    '2*3*4 and 2 ** 3 ** 4 and a * b * c and x**2**y',
    'src/*.ts and test/*.ts, *.md and *.json, **/*.ts and **/a/**',
    'f(*args, **kwargs) and int *a, char *b',
    'unclosed **bold and `code',
    '5* hotel, 4* hotel',
    '1.5 is a number, -1 too',
  ])('leaves alone: %s', (text) => {
    expect(drawing(text)).toEqual([text])
  })

  it('keeps fenced code unchanged, with its language in front', () => {
    const text = 'Do:\n```ts\nconst a = `**b**`\n\n  # indented\n```\n*done*'
    expect(drawing(text)).toEqual([
      'Do:',
      '<d>ts</>',
      '│ const a = `**b**`',
      '│ ',
      '│   # indented',
      '<i>done</>',
    ])
  })

  it('a fence in a list is indented as it is, and a longer one holds a shorter one', () => {
    expect(drawing('- so:\n  ```\n  a\n    b\n  ```')).toEqual(['• so:', '  │ a', '  │   b'])
    expect(drawing('```\n```')).toEqual(['```', '```'])
    expect(drawing('````md\n```\n*a*\n```\n````')).toEqual(['<d>md</>', '│ ```', '│ *a*', '│ ```'])
  })

  it('aligns a table, and leaves one as it is that does not fit or may still grow', () => {
    const table = '| Name | Cost |\n|---|---:|\n| `a` | 1 |\n| 日本 | 22 \\| 3 |\nend'
    expect(drawing(table)).toEqual([
      '<b>Name</>    <b>Cost</>',
      '<d>────  ──────</>',
      '<cyan>a</>          1',
      '日本  22 | 3',
      'end',
    ])
    const wide = `| a | b |\n|---|---|\n| ${'x'.repeat(50)} | ${'y'.repeat(50)} |`
    expect(drawing(wide)).toEqual(wide.split('\n'))
    const rows = ['| a | b |', '|---|---|', '| 1 | 2 |']
    expect(markdownLines(rows.join('\n'), 80, true).map(drawn)).toEqual(rows)
    expect(markdownLines([...rows, '', 'end'].join('\n'), 80, true).map(drawn)).toContain('1  2')
  })

  it('what has begun and not ended looks as it will, while more is coming', () => {
    expect(drawing('some **bold te', true)).toEqual(['some <b>bold te</>'])
    expect(drawing('some **bold text*', true)).toEqual(['some <b>bold text</>'])
    expect(drawing('some **bold text**', true)).toEqual(['some <b>bold text</>'])
    expect(drawing('call `npm ins', true)).toEqual(['call <cyan>npm ins</>'])
    expect(drawing('```js\nconst a', true)).toEqual(['<d>js</>', '│ const a'])
    expect(drawing('```js\nconst a\n``', true)).toEqual(['<d>js</>', '│ const a'])
    expect(drawing('one **line\nmore', true)).toEqual(['one **line', 'more'])
  })

  const piece = fc.constantFrom(
    ...[
      'word',
      'two',
      '7',
      ' ',
      ' ',
      '\n',
      '\n',
      '*',
      '**',
      '_',
      '__',
      '`',
      '```',
      '~~',
      '#',
      '- ',
      '> ',
      '| ',
    ],
    ...['1. ', '|---|', '[', '](', ')', '\\', '日', '(', '.', '---', '    '],
  )
  const letters = (text: string) => text.replaceAll(/[^\p{L}\p{N}]/gu, '')

  it('loses no letter and no figure, whatever is written, whole or in the middle', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), fc.boolean(), (pieces, isOpen) => {
        const text = pieces.join('')
        const lines = markdownLines(text, 40, isOpen)
        const shown = lines.map(({ lead = '', spans }) => lead + spans.map((span) => span.text).join(''))
        expect(letters(shown.join('\n'))).toBe(letters(text))
      }),
      { numRuns: runs(100) },
    )
  })

  it('is broken between words: no row begins with a space or is too long, and only spaces go', () => {
    const word = fc.constantFrom('a', 'word', 'longer-words', '日本語', 'x', 'of')
    const spans = fc.array(fc.tuple(fc.array(word, { minLength: 1 }), fc.constantFrom(' ', '  ')))
    fc.assert(
      fc.property(spans, fc.integer({ min: 14, max: 40 }), (texts, columns) => {
        const line = { spans: texts.map(([words, gap]) => ({ text: words.join(gap) + gap })) }
        const text = plainText({ spans: brokenSpans(line, columns) })
        expect(text.replaceAll(/\s/g, '')).toBe(plainText(line).replaceAll(' ', ''))
        for (const row of text.trimEnd().split('\n')) {
          expect(row).not.toMatch(/^ /)
          expect(columnsOf(row.trimEnd())).toBeLessThanOrEqual(columns)
        }
      }),
    )
  })

  it.each([
    ['letters', 'x'.repeat(50), [20, 20, 10]],
    ['wide characters', '漢'.repeat(25), [20, 20, 10]],
    ['letters after words', `so ${'x'.repeat(50)} on`, [2, 20, 20, 13]],
  ])('breaks a word that is longer than a row: %s', (_, text, widths) => {
    const line = { spans: [{ text: text.slice(0, 30) }, { text: text.slice(30), bold: true }] }
    const broken = plainText({ spans: brokenSpans(line, 20) })
    expect(broken.split('\n').map(columnsOf)).toEqual(widths)
    expect(broken.replaceAll(/\s/g, '')).toBe(text.replaceAll(' ', ''))
  })

  it('takes long lines of nothing but marks', () => {
    for (const mark of ['*a ', '`', '`a ', '**', '[', '> ', '_(', '(*', '|', ' ', '\\*', '# ', '- '])
      expect(markdownLines(mark.repeat(20_000), 80).length).toBeGreaterThan(0)
  })
})

type Given = HereSize & {
  readonly environment?: { readonly [name: string]: string }
  /** Milliseconds between words. */
  readonly delay?: number
  /** Whether to start the binary. */
  readonly isProcess?: boolean
}

async function answered(said: string, { environment, delay = 0, isProcess, ...size }: Given = {}) {
  const place = newPlace(environment)
  const script = place.file('script.json', { delay, rules: [{ do: [{ say: said }] }] })
  const words = ['chat', '--script', script]
  const screen = isProcess ? open(place, words, size) : openHere(place, words, size)
  await screen.shows(/Servers +none/)
  await screen.enter('go')
  return screen
}

describe('Markdown in a chat', () => {
  it('is drawn: without its marks, with lists, edges and looks', async () => {
    const screen = await answered(
      '## Plan\n\nUse **bold** and `code`.\n\n1. a line that is so long that it goes on in the next row of this narrow terminal\n- b\n\n```sh\nls *.md\n```',
      { columns: 60, hasColours: true },
    )
    const text = await screen.shows(/ls \*\.md.*\d out/s)
    expect(text).toContain('Plan\n\nUse bold and code.\n\n1. a line')
    expect(text).toMatch(/\n {3}this narrow terminal\n• b\n\nsh\n│ ls \*\.md\n/)
    expect(screen.raw()).toContain('\u001b[1mbold\u001b[22m')
    expect(screen.raw()).toContain('\u001b[36mcode\u001b[39m')
  })

  it.skipIf(noTerminal)('is shown as it was written, in no colours, where NO_COLOR is set', async () => {
    const screen = await answered('Use **bold**.\n- `b`', { environment: { NO_COLOR: '1' }, isProcess: true })
    await screen.shows('Use **bold**.\n- `b`')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours
    expect(screen.raw()).not.toMatch(/\u001b\[(3|9)\d/)
  })

  it('a long answer stays within the screen while it comes, and is all there to scroll to, once', async () => {
    const part = (number: number) =>
      `## Part ${number}\n\nSome **bold** words, ${'日本 '.repeat(30)}\n\n\`\`\`js\nconst a${number} = '${'x'.repeat(100)}'\n\`\`\`\n\n- item ${number}`
    const parts = Array.from({ length: 12 }, (_, index) => index + 1)
    const screen = await answered(parts.map(part).join('\n\n'), { columns: 80, rows: 24, delay: 15 })
    await screen.shows(/item 12\n.*\d out/s)
    const count = (wanted: RegExp) => screen.scrolled().match(wanted)?.length
    for (const number of parts) {
      expect(count(new RegExp(`^Part ${number}$`, 'gm'))).toBe(1)
      expect(count(new RegExp(`^│ const a${number} = `, 'gm'))).toBe(1)
      expect(count(new RegExp(`^• item ${number}$`, 'gm'))).toBe(1)
    }
    expect(count(/Toolshelf chat with/g)).toBe(1)
    expect(screen.raw()).not.toContain('\u001b[2J')
  })

  it('cannot steer the terminal', async () => {
    const screen = await answered('**bold\u001b[2J** `\u001b]0;title\u0007code` \u202e')
    const text = await screen.shows(/bold.*\d out/s)
    expect(text).toContain('bold code ?')
    expect(screen.raw()).not.toMatch(/title|\u202e/)
  })
})
