import { expect, it } from 'vitest'
import { slackBodyOf } from '#control-plane/services/webhooks/slack-body.ts'

it("the body for Slack has the text of the event and each fact, and escapes Slack's markup", () => {
  const data = { label: '<!channel> & co', cap: { used: 1 }, left_usdc: '5', none: null }
  expect(slackBodyOf({ event: 'a<b', data })).toEqual({
    text: '*a&lt;b*\nlabel: &lt;!channel&gt; &amp; co\ncap: {"used":1}\nleft usdc: 5\nnone: none',
  })
})
