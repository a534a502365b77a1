// Reads files of public repositories at pinned commits, from local clones or, where there is none, from GitHub.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

const MAX_BYTES = 64 * 1024 * 1024

/** The git directory of a repository in a folder: `owner+name`, `owner+name/.git` or `owner+name/repo`. Cloned if absent. */
export function gitDirectory(folder, { repository, commit }) {
  const base = join(folder, repository.replace('/', '+'))
  const found = [join(base, 'repo'), join(base, '.git'), base].find((path) => existsSync(join(path, 'HEAD')))
  if (found) return found
  mkdirSync(base, { recursive: true })
  const run = (...options) => execFileSync('git', ['--git-dir', base, ...options], { stdio: 'inherit' })
  run('init', '--bare', '--quiet')
  run('fetch', '--quiet', '--depth', '1', `https://github.com/${repository}`, commit)
  return base
}

/** Every path of a commit. */
export function listFiles(directory, { commit }) {
  return run(directory, ['ls-tree', '-r', '--name-only', commit]).split('\n')
}

/** A file's text at a commit. */
export function readFile(directory, { commit }, path) {
  return run(directory, ['show', `${commit}:${path}`])
}

function run(directory, options) {
  return execFileSync('git', ['--git-dir', directory, ...options], {
    maxBuffer: MAX_BYTES,
    encoding: 'utf8',
  })
}
