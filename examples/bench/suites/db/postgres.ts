/** PostgreSQL with 10,000 users, as a server of the bench. */
import { startPostgres } from '../../process/postgres.ts'
import { serve } from '../serve.ts'
import { addressOf, addUsers, HOST } from './database.ts'

await serve(async () => {
  const postgres = await startPostgres()
  await addUsers(addressOf(HOST, postgres.port))
  return postgres.port
})
