/** Reads the user and the tenant from a token. Every service that uses this plugin has both in its handlers. */
import { t } from 'elysia'
import { microservice } from 'elysia-microservices'

/** Stands for the verification of a token: its signature, its expiry, its tenant. */
const USERS = new Map([
  ['Bearer ada', { name: 'Ada', tenant: 'acme' }],
  ['Bearer bob', { name: 'Bob', tenant: 'bolt' }]
])

export const auth = microservice()
  .guard({
    as: 'scoped',
    schema: 'standalone',
    headers: t.Object({ authorization: t.String() }),
    errors: { UNAUTHORIZED: {} }
  })
  .resolve({ as: 'scoped' }, ({ headers, fail }) => {
    const user = USERS.get(headers.authorization)
    return user === undefined ? fail('UNAUTHORIZED') : { user }
  })
