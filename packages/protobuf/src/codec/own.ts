/** Properties of plain objects whose names come from elsewhere. */

/** Sets a property. `__proto__` becomes a property like any other. */
export function setOwn(object: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__')
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
  else object[name] = value
}

/** Whether plain objects inherit something by this name, which is then no value of theirs. */
export function isInherited(name: string): boolean {
  return name in Object.prototype
}
