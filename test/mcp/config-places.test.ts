// Where the files of each client are, on each system.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { configPlaces, defaultConfigFiles, type Machine, ownConfigFile } from '../../src/mcp/config/places.ts'

const linux: Machine = { home: '/home/a', folder: '/project', platform: 'linux', environment: {} }
const mac: Machine = { ...linux, home: '/Users/a', platform: 'darwin' }
const windows: Machine = {
  home: 'C:\\Users\\a',
  folder: 'C:\\project',
  platform: 'win32',
  environment: { APPDATA: 'D:\\Roaming' },
}

const filesOf = (machine: Machine, client: string) =>
  configPlaces(machine)
    .filter((place) => place.client === client)
    .map(({ file }) => file)

describe('H1 configPlaces', () => {
  it.each([
    [linux, 'Claude Desktop', ['/home/a/.config/Claude/claude_desktop_config.json']],
    [mac, 'Claude Desktop', ['/Users/a/Library/Application Support/Claude/claude_desktop_config.json']],
    [windows, 'Claude Desktop', ['D:\\Roaming\\Claude\\claude_desktop_config.json']],
    [linux, 'Claude Code', ['/home/a/.claude.json', '/project/.mcp.json']],
    [windows, 'Cursor', ['C:\\Users\\a\\.cursor\\mcp.json', 'C:\\project\\.cursor\\mcp.json']],
    [
      mac,
      'VS Code',
      [
        '/Users/a/Library/Application Support/Code/User/mcp.json',
        '/Users/a/Library/Application Support/Code/User/settings.json',
        '/project/.vscode/mcp.json',
      ],
    ],
    [linux, 'Windsurf', ['/home/a/.codeium/windsurf/mcp_config.json', '/home/a/.codeium/mcp_config.json']],
    [linux, 'Codex', ['/home/a/.codex/config.toml', '/project/.codex/config.toml']],
    [linux, 'Gemini CLI', ['/home/a/.gemini/settings.json', '/project/.gemini/settings.json']],
    [windows, 'Zed', ['D:\\Roaming\\Zed\\settings.json', 'C:\\project\\.zed\\settings.json']],
  ])('%o: %s', (machine, client, files) => {
    expect(filesOf(machine, client)).toEqual(files)
  })

  it('names each file once, at home too', () => {
    expect(filesOf({ ...linux, folder: linux.home }, 'Cursor')).toEqual(['/home/a/.cursor/mcp.json'])
  })

  it('follows the variables that move them', () => {
    const environment = { CODEX_HOME: '/c', XDG_CONFIG_HOME: '/x', CLAUDE_CONFIG_DIR: '/d', COPILOT_HOME: '' }
    const moved = { ...linux, environment }
    expect(filesOf(moved, 'Codex')[0]).toBe('/c/config.toml')
    expect(filesOf(moved, 'Claude Code')[0]).toBe('/d/.claude.json')
    expect(filesOf(moved, 'Claude Desktop')[0]).toBe('/x/Claude/claude_desktop_config.json')
    expect(filesOf(moved, 'Copilot CLI')[0]).toBe('/home/a/.copilot/mcp-config.json')
    expect(ownConfigFile(moved)).toBe('/x/toolshelf/toolshelf.json')
  })
})

describe('defaultConfigFiles', () => {
  const root = mkdtempSync(join(tmpdir(), 'toolshelf-places-'))
  const machine: Machine = {
    home: join(root, 'home'),
    folder: join(root, 'project'),
    platform: 'linux',
    environment: {},
  }
  const own = join(root, 'home/.config/toolshelf/toolshelf.json')

  it('a gateway never takes commands from the project that it is started in', async () => {
    mkdirSync(machine.folder, { recursive: true })
    writeFileSync(join(machine.folder, '.mcp.json'), '{}')
    expect(await defaultConfigFiles(machine, 'gateway')).toEqual([own])
    expect(await defaultConfigFiles(machine, 'doctor')).toEqual([join(machine.folder, '.mcp.json')])
  })
})
