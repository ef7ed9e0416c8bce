import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readCases, readReport, sum, type TestCase, writeReport } from './junit.ts'

const BUN = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="bun test" tests="4" failures="1" skipped="1">
  <testsuite name="a.test.ts" tests="4">
    <testcase name="reads &quot;&lt;testcase&gt;&quot; and a > b" classname="x" time="0.001" />
    <testcase name="fails" classname="x" time="0.000777"><failure type="AssertionError" message="1 !== 2">at a.ts:8</failure></testcase>
    <testsuite name="nested" tests="1"><testcase name="deep" time="0" /></testsuite>
    <testcase name="left out" time="0">
      <skipped />
    </testcase>
  </testsuite>
</testsuites>`

const NODE = `<?xml version="1.0" encoding="utf-8"?>
<testsuites>
	<testsuite name="x" time="0.1" tests="2" failures="1">
		<testcase name="passes" time="0.01" classname="test"/>
		<testcase name="fails" time="0.01" classname="test" failure="a &gt; b">
			<failure type="testCodeFailure" message="a"><![CDATA[stack]]></failure>
		</testcase>
	</testsuite>
</testsuites>`

describe('readReport', () => {
  it('counts a report of Bun', () => {
    assert.deepEqual(readReport(BUN), {
      counts: { passed: 2, failed: 1, skipped: 1 },
      failures: ['fails: 1 !== 2']
    })
  })

  it('counts a report of Node', () => {
    assert.deepEqual(readReport(NODE), {
      counts: { passed: 1, failed: 1, skipped: 0 },
      failures: ['fails: a']
    })
  })

  it('finds nothing in a report without tests', () => {
    assert.deepEqual(readReport('<testsuites></testsuites>'), {
      counts: { passed: 0, failed: 0, skipped: 0 },
      failures: []
    })
  })

  it('gives names and reasons as they were before they were XML', () => {
    const { failures } = readReport(
      '<testcase name="&quot;a&quot; &amp; &lt;b&gt;"><failure message="one&#10;two"/></testcase><testcase name="c"><error/></testcase>'
    )
    assert.deepEqual(failures, ['"a" & <b>: one\ntwo', 'c: no reason given'])
  })
})

describe('writeReport', () => {
  it('writes what readCases reads', () => {
    const cases: TestCase[] = [
      { name: `a > "b" & 'c'`, outcome: 'passed' },
      { name: 'd', outcome: 'failed', reason: '1 < 2\nand more' },
      { name: 'e', outcome: 'skipped' }
    ]
    assert.deepEqual(readCases(writeReport(cases)), cases)
  })
})

describe('sum', () => {
  it('adds reports up', () => {
    assert.deepEqual(sum([readReport(BUN).counts, readReport(NODE).counts]), {
      passed: 3,
      failed: 2,
      skipped: 1
    })
  })
})
