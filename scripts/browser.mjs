// Finds a Chromium or Chrome for the tests of the inspector's page, and installs one where that is possible.
import { spawn, spawnSync } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome']
const PLACES = [
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
]

/** The path of a browser: CHROME_PATH, one on PATH, or one where systems put it; undefined if there is none. */
export function findBrowser() {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const onPath = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)))
  return [process.env.CHROME_PATH, ...onPath, ...PLACES].find((path) => path && isExecutable(path))
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** What to do if no browser was found. */
export const BROWSER_ADVICE = 'install Chromium or Chrome, or set CHROME_PATH to one'

/** Installs Debian's Chromium if the process is root; prints what it does, or what is missing if it cannot. */
export async function ensureBrowser() {
  if (findBrowser() || process.env.TOOLSHELF_NO_BROWSER) return
  const isDebian = process.platform === 'linux' && spawnSync('apt-get', ['--version']).status === 0
  if (!isDebian || process.getuid?.() !== 0) {
    console.log(`browser: none found, so tests of the inspector's page are skipped; ${BROWSER_ADVICE}.`)
    return
  }
  console.log('browser: none found; installing chromium with apt-get (TOOLSHELF_NO_BROWSER=1 prevents it).')
  const isDone =
    (await succeeds('apt-get', ['update'])) &&
    (await succeeds('apt-get', ['install', '-y', '--no-install-recommends', 'chromium']))
  if (!isDone)
    console.log(`browser: apt-get failed, so tests of the inspector's page are skipped; ${BROWSER_ADVICE}.`)
}

function succeeds(command, words) {
  const child = spawn(command, words, { stdio: ['ignore', 'ignore', 'inherit'] })
  return new Promise((resolve) => {
    child.once('error', () => resolve(false))
    child.once('close', (code) => resolve(code === 0))
  })
}
