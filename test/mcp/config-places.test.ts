// Where the files of each client are, on each system.
import { describe, expect, it } from 'vitest'
import {
  configPlaces,
  type LocalMachine,
  ownConfigFile,
  projectConfigFiles,
  userConfigFiles,
} from '../../packages/mcp/src/config/places.ts'

const linux: LocalMachine = { home: '/home/a', folder: '/project', platform: 'linux', environment: {} }
const mac: LocalMachine = { ...linux, home: '/Users/a', platform: 'darwin' }
const windows: LocalMachine = {
  home: 'C:\\Users\\a',
  folder: 'C:\\project',
  platform: 'win32',
  environment: { APPDATA: 'D:\\Roaming', LOCALAPPDATA: 'D:\\Local' },
}

const filesOf = (machine: LocalMachine, client: string) =>
  configPlaces(machine)
    .filter((place) => place.client === client)
    .map(({ file }) => file)

describe('H1 configPlaces', () => {
  it.each([
    [linux, 'Claude Desktop', ['/home/a/.config/Claude/claude_desktop_config.json']],
    [mac, 'Claude Desktop', ['/Users/a/Library/Application Support/Claude/claude_desktop_config.json']],
    [
      windows,
      'Claude Desktop',
      [
        'D:\\Roaming\\Claude\\claude_desktop_config.json',
        'D:\\Local\\Packages\\Claude_pzs8sxrjxfjjc\\LocalCache\\Roaming\\Claude\\claude_desktop_config.json',
      ],
    ],
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
    [mac, 'Devin Desktop', ['/Users/a/.config/devin/mcp_config.json', '/project/.devin/mcp_config.json']],
    [
      windows,
      'Devin Desktop',
      ['D:\\Roaming\\devin\\mcp_config.json', 'C:\\project\\.devin\\mcp_config.json'],
    ],
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

describe('H7 which files count', () => {
  it('those of the user and those of the folder are never mixed', () => {
    expect(userConfigFiles(linux)).toEqual(['/home/a/.config/toolshelf/toolshelf.json'])
    expect(projectConfigFiles(linux)).toEqual(['/project/toolshelf.json', '/project/.mcp.json'])
  })

  it('the user’s own file stays theirs in the folder that holds it', () => {
    const folder = '/home/a/.config/toolshelf'
    expect(projectConfigFiles({ ...linux, folder })).toEqual([`${folder}/.mcp.json`])
  })

  it('a place knows whether it came with the folder', () => {
    const ofFolder = configPlaces(linux).filter(({ isProject }) => isProject)
    expect(ofFolder.every(({ file }) => file.startsWith('/project/'))).toBe(true)
    expect(ofFolder.map(({ file }) => file)).toContain('/project/.vscode/mcp.json')
    const atHome = configPlaces({ ...linux, folder: linux.home })
    expect(atHome.find(({ file }) => file === '/home/a/.cursor/mcp.json')?.isProject).toBe(false)
  })
})
