// Certificates for tests, made by openssl.
import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** Whether certificates can be made here. */
export const hasOpenssl = spawnSync('openssl', ['version']).status === 0
if (!hasOpenssl) console.warn('openssl is missing, so TLS is not tested; install it')

/** A certificate for 127.0.0.1 that signs itself, with its key; files are replaced if they exist. */
export function makeCertificate(
  folder: string,
  name: string,
): { readonly cert: string; readonly key: string } {
  const [cert, key] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)]
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2']
  execFileSync('openssl', ['req', '-x509', ...curve, '-keyout', key, '-out', cert, ...subject], {
    stdio: 'ignore',
  })
  return { cert, key }
}
