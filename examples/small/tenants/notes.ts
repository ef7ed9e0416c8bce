/** Notes of many tenants: a handler can only read and write the notes of its caller's tenant. */
import { t } from 'elysia'
import { microservice, type Transport } from 'elysia-microservices'
import { auth } from './auth.ts'

interface Note {
  readonly text: string
  readonly by: string
}

export function newNotes(transport: Transport) {
  // With a database: a column with the tenant, and a policy that compares the column with the tenant of the
  // transaction.
  const tenants = new Map<string, Note[]>()
  const notesOf = (tenant: string) => tenants.get(tenant) ?? []

  return microservice({ name: 'notes', transport })
    .use(auth)
    .message('notes.list', ({ user }) => notesOf(user.tenant))
    .message(
      'notes.add',
      ({ user, data }) => {
        const note = { text: data.text, by: user.name }
        tenants.set(user.tenant, [...notesOf(user.tenant), note])
        return note
      },
      { data: t.Object({ text: t.String({ minLength: 1, maxLength: 1_000 }) }) }
    )
}
export type Notes = ReturnType<typeof newNotes>
