/** Schemas of objects that have a key. */
import { t } from 'elysia'

/** Drops what it does not name. */
export const demands = (key: string) => t.Object({ [key]: t.String() })

/** Lets pass what it does not name. */
export const demandsOpenly = (key: string) => t.Object({ [key]: t.String() }, { additionalProperties: true })

/** The same schema each time: programs use one schema at several places. */
export function shared(make: (key: string) => object): (key: string) => object {
  const made = new Map<string, object>()
  return (key) => {
    const schema = made.get(key) ?? make(key)
    made.set(key, schema)
    return schema
  }
}
