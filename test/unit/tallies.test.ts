import { describe, expect, it } from 'vitest'
import { createTallies } from '#data-plane/observe/tallies.ts'

describe('the counters of calls', () => {
  it('are written in the format of Prometheus: cumulative buckets, escaped labels', () => {
    const tallies = createTallies()
    const calls = tallies.counter('calls_total', 'Calls', ['wire', 'code'])
    const chat = calls('chat', '')
    calls('a"b\\c\nd', 'x').add(2)
    chat.add(1)
    chat.add(1)
    const time = tallies.histogram('call_seconds', 'Time', { labelNames: ['wire'], bounds: [0.5, 1] })('chat')
    for (const value of [0.5, 0.75, 3]) time.add(value)
    expect(tallies.text().split('\n')).toEqual([
      '# HELP calls_total Calls',
      '# TYPE calls_total counter',
      'calls_total{wire="chat",code=""} 2',
      'calls_total{wire="a\\"b\\\\c\\nd",code="x"} 2',
      '',
      '# HELP call_seconds Time',
      '# TYPE call_seconds histogram',
      'call_seconds_bucket{le="0.5",wire="chat"} 1',
      'call_seconds_bucket{le="1",wire="chat"} 2',
      'call_seconds_bucket{le="+Inf",wire="chat"} 3',
      'call_seconds_sum{wire="chat"} 4.25',
      'call_seconds_count{wire="chat"} 3',
      '',
    ])
  })
})
