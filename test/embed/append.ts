// A process of its own that appends to a store: append.ts <folder> <name>
import { openStore } from '../../packages/core/src/embed/store.ts'

const [, , folder, name] = process.argv
const dimensions = 8
const store = await openStore({ folder, model: 'fake', dimensions, notify: console.error })
for (let batch = 0; batch < 100; batch++) {
  const texts = [0, 1, 2].map((index) => `${name} ${3 * batch + index}`)
  store.add(
    texts,
    texts.map(() => new Array<number>(dimensions).fill(0.35)),
  )
  await store.flush()
}
