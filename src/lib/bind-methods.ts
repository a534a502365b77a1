// Makes the methods of a class instance independent of how they are called.

/** Binds an instance's methods to it, so that users may destructure them or pass them as callbacks. */
export function bindMethods<Instance extends object>(instance: Instance): Instance {
  const members = Object.getOwnPropertyDescriptors(Object.getPrototypeOf(instance) as object)
  for (const [name, { value }] of Object.entries(members))
    if (typeof value === 'function' && name !== 'constructor')
      Object.assign(instance, { [name]: value.bind(instance) })
  return instance
}
