// The image, built by the Dockerfile's own commands from the files that `docker build` would see, and run.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const script = fileURLToPath(new URL('../../deploy/try-image.mjs', import.meta.url))

it.skipIf(process.platform === 'win32')(
  'the image can be built, is healthy, and ends at a signal',
  async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [script, '--modules'], {
      maxBuffer: 2 ** 26,
    })
    expect(stdout).toMatch(/^health check: 0, user: \d+, exit code after SIGTERM: 0$/m)
  },
)
