/** The types, as text, of what functions among the shapes make. */

// biome-ignore lint/complexity/noBannedTypes: only a key
const TYPES = new WeakMap<Function, string>()

/** Notes the type of what a function makes. */
export function withType<Made extends (...args: never[]) => unknown>(type: string, make: Made): Made {
  TYPES.set(make, type)
  return make
}

/** The type of what a function makes; `unknown` if nobody has noted it. */
export function typeOfShape(make: (...args: never[]) => unknown): string {
  return TYPES.get(make) ?? 'unknown'
}
