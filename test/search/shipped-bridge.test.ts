// The language table in the package: its size, its languages, and what it translates.
import { readFileSync, statSync } from 'node:fs'
import { brotliDecompressSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { rankers } from '../../src/index.ts'
import { createBridge, createTranslate } from '../../src/search/index.ts'
import { office } from './tools.ts'

const file = new URL('../../data/bridge.bin', import.meta.url)
const bridge = createBridge(brotliDecompressSync(readFileSync(file)))
const translate = createTranslate(() => bridge)
const nothingKnown = () => false

describe('the shipped language table', () => {
  it('takes at most 1.5 MB', () => {
    expect(statSync(file).size).toBeLessThanOrEqual(1_500_000)
  })

  it('names its sources in the notice', () => {
    const notice = readFileSync(new URL('../../data/NOTICE', import.meta.url), 'utf8')
    for (const source of ['bridge.bin', 'Gitea', 'Rocket.Chat', 'Chatwoot', 'Microsoft', 'Unicode'])
      expect(notice).toContain(source)
  })

  it('has every language with enough words', () => {
    const wanted = 'ar ca cs da de el es fa fi fr he hu id it ja ko nl no pl pt ro ru sv tr uk vi zh'
    expect([...bridge.languages].sort()).toEqual(wanted.split(' '))
    for (const language of bridge.languages) expect(bridge.lexicon(language)!.total).toBeGreaterThan(1000)
  })

  it.each([
    ['de', 'Rechnung', 'invoice'],
    ['fr', 'Créer une facture', 'create invoice'],
    ['es', 'eliminar el archivo', 'delete file'],
    ['it', 'inviare un messaggio', 'send message'],
    ['pt', 'criar uma tarefa', 'create task'],
    ['nl', 'verwijder het bestand', 'delete file'],
    ['pl', 'usuń plik', 'delete file'],
    ['cs', 'smazat soubor', 'delete file'],
    ['ru', 'удалить файл', 'delete file'],
    ['uk', 'видалити файл', 'delete file'],
    ['tr', 'dosyayı sil', 'delete file'],
    ['sv', 'skicka ett meddelande', 'send message'],
    ['ja', 'ファイルを削除', 'delete file'],
    ['ko', '파일 삭제', 'delete file'],
    ['zh', '删除文件', 'delete file'],
  ])('%s: %s', (language, query, expected) => {
    const translation = translate(query, nothingKnown)
    expect(translation?.language).toBe(language)
    // Forms such as "created" are as good: search compares stems.
    const beginnings = translation?.text.split(' ').map((word) => word.slice(0, 5))
    for (const word of expected.split(' ')) expect(beginnings).toContain(word.slice(0, 5))
  })

  it.each([
    'create an issue in the repository',
    'what is the weather in Paris tomorrow',
    'send a mail to Anna Kowalska about the invoice',
    'kubernetes pod logs',
    'find hotels in Rio de Janeiro',
    'calender event',
    'ffmpeg transcode',
    'lorem',
    'book a table at La Trattoria for two',
  ])('leaves English as it is: %s', (query) => {
    expect(translate(query, nothingKnown)).toBeUndefined()
  })

  it.each([
    ['eine E-Mail schicken', 'mcp__email__send_email'],
    ['ajouter un événement au calendrier', 'mcp__calendar__create_event'],
    ['给频道发送消息', 'mcp__slack__send_message'],
    ['ブランチを削除する', 'mcp__github__delete_branch'],
  ])('S7 hybrid finds English tools: %s', async (query, expected) => {
    const { hits } = await rankers.hybrid(office, query, 3)
    expect(hits[0]?.tool.name).toBe(expected)
  })
})
