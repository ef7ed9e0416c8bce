/** An app must not look healthy while its messages, or its HTTP requests, go nowhere. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { it } from 'node:test'
import { programFile, testsFolder, underBun } from '../workspace.ts'
import { newService } from './service.ts'

/** Runs the app until it ends. */
function ended(port: number, http: number): Promise<{ code: unknown; stdout: string; stderr: string }> {
  const args = [programFile('apps/taken-port'), String(port), String(http)]
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: testsFolder }, (error, stdout, stderr) =>
      resolve({ code: error?.code, stdout, stderr })
    )
  })
}

it('a service that cannot listen ends the process, even if the program ignores uncaught errors', async () => {
  await using other = await newService().listen()
  const { code, stdout, stderr } = await ended(other.address!.port, 0)
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, /The service 'orders' cannot listen; the process ends/)
  assert.match(stderr, /ListenError.*EADDRINUSE/s)
})

// On other runtimes `app.listen()` throws.
if (!underBun)
  it('an app on Node whose HTTP port is taken does the same, although its adapter drops the error', async () => {
    await using other = await newService().listen()
    const { port } = other.address!
    const { code, stdout, stderr } = await ended(0, port)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /The app cannot listen; the process ends/)
    assert.match(stderr, new RegExp(`ListenError: Cannot listen on http://127.0.0.1:${port}: .*EADDRINUSE`))
  })
