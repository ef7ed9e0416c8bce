/** Schemas of objects that have a key. */
import { t } from 'elysia'

const made = new Map<string, object>()

/** The schema of objects that have a key. */
export function demanding(key: string): object {
  const schema = made.get(key) ?? t.Object({ [key]: t.String() })
  made.set(key, schema)
  return schema
}
