// The smallest picture and sound there are, as base64.
export const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=='

export const wav = silentWave().toString('base64')

function silentWave() {
  const samples = 8
  const wave = Buffer.alloc(44 + samples, 128)
  wave.write('RIFF', 0, 'ascii')
  wave.writeUInt32LE(36 + samples, 4)
  wave.write('WAVEfmt ', 8, 'ascii')
  wave.writeUInt32LE(16, 16)
  wave.writeUInt16LE(1, 20)
  wave.writeUInt16LE(1, 22)
  wave.writeUInt32LE(8000, 24)
  wave.writeUInt32LE(8000, 28)
  wave.writeUInt16LE(1, 32)
  wave.writeUInt16LE(8, 34)
  wave.write('data', 36, 'ascii')
  wave.writeUInt32LE(samples, 40)
  return wave
}
