/** An app must not look healthy while its messages go nowhere. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { it } from 'node:test'
import { programFile, testsFolder } from '../workspace.ts'
import { newService } from './service.ts'

it('a service that cannot listen ends the process, even if the program ignores uncaught errors', async () => {
  const other = await newService().listen()
  try {
    const args = [programFile('apps/taken-port'), String(other.address!.port)]
    const ended = await new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
      execFile(process.execPath, args, { cwd: testsFolder }, (error, stdout, stderr) =>
        resolve({ code: error?.code, stdout, stderr })
      )
    })
    assert.equal(ended.code, 1)
    assert.equal(ended.stdout, '')
    assert.match(ended.stderr, /The service 'orders' cannot listen; the process ends/)
    assert.match(ended.stderr, /ListenError.*EADDRINUSE/s)
  } finally {
    await other.stop()
  }
})
