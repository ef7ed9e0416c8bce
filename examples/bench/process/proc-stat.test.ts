import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { cpuMicroseconds, peakMegabytes, residentMegabytes } from './proc-stat.ts'

describe('what a process has used', () => {
  // A number above the highest process id of any kernel.
  const nobody = 2 ** 30

  it('is not known for a process that does not exist', () => {
    assert.equal(cpuMicroseconds(nobody), null)
    assert.equal(residentMegabytes(nobody), null)
    assert.equal(peakMegabytes(nobody), null)
  })

  it("agrees with the runtime's own figures", () => {
    const { user, system } = process.cpuUsage()
    const cpu = cpuMicroseconds(process.pid)!
    // The kernel rounds both values down to ticks of 10 ms.
    assert.ok(cpu >= user + system - 20_000, `${cpu} is less than ${user + system}`)
    const resident = residentMegabytes(process.pid)!
    assert.ok(resident > 1 && resident < 10_000, `${resident} MiB`)
    assert.ok(peakMegabytes(process.pid)! >= 0.9 * resident)
  })
})
