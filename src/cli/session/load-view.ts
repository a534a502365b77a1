// Imports a view that Ink draws.

/**
 * Imports a view. During the import it removes `CI`, because Ink draws nothing if it is set, and sets `NODE_ENV`,
 * because React otherwise runs in its slow development mode.
 */
export async function loadView<View>(importView: () => Promise<View>): Promise<View> {
  const { env } = process
  const { CI, NODE_ENV } = env
  delete env.CI
  env.NODE_ENV = 'production'
  try {
    return await importView()
  } finally {
    if (CI !== undefined) env.CI = CI
    if (NODE_ENV === undefined) delete env.NODE_ENV
    else env.NODE_ENV = NODE_ENV
  }
}
