/** Serves HTTP for the notes, in one program: `bun start.ts`, then the commands that it prints. */
import { Elysia } from 'elysia'
import { connect } from 'elysia-microservices/client'
import { gateway } from 'elysia-microservices/gateway'
import { tcp } from 'elysia-microservices/tcp'
import { type Notes, newNotes } from './notes.ts'

const port = Number(process.env['PORT'] ?? 3000)

const transport = tcp({ port: Number(process.env['NOTES_PORT'] ?? 4000) })
const notes = newNotes(transport)
await notes.listen()

const app = new Elysia()
  .use(
    gateway(
      connect<Notes>({ transport }),
      { 'GET /notes': 'notes.list', 'POST /notes': { pattern: 'notes.add', status: 201 } },
      { headers: ['authorization'], closeClients: true }
    )
  )
  .listen(port)

const curl = `curl localhost:${port}/notes -H 'authorization: Bearer ada'`
console.log(`${curl} -H 'content-type: application/json' -d '{"text":"Buy tea"}'\n${curl}`)

process.once('SIGTERM', async () => {
  await app.stop()
  await notes.stop()
})
