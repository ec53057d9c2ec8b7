import { setTimeout as pause } from 'node:timers/promises'
import { runCheck } from './verify.ts'
import type { World } from './world.ts'

const EVERY_MS = 500
const MOST_SHOWN = 5
const ANSWER_LIMIT_MS = 2_000
/** The checker reads key by key, so I5 and I6 hold for it only at rest. {@link COUNTERS} checks both at one moment. */
const AT_REST_ALONE = /^I[56] /

/** Compares the sums of open and captured holds with the counters of their accounts, all read at one moment. */
const COUNTERS = `
local E=string.match(redis.call('GET','m:epoch') or '','^(%d+):open$')
if not E then return {} end
local sums,wrong={},{}
local function add(set,state,field,counter)
  for _,rid in ipairs(redis.call('ZRANGE',set,0,-1)) do
    local H=redis.call('HMGET','{m00}:h:'..rid,'acct','st','ep',field)
    if H[2]~=state or H[3]~=E then wrong[#wrong+1]=rid..' is '..tostring(H[2])..' in '..set end
    local sum=sums[H[1] or ''] or {h=0,u=0}
    sum[counter]=sum[counter]+(tonumber(H[4] or nil) or 0)
    sums[H[1] or '']=sum
  end
end
add('{m00}:z:exp:'..E,'open','amt','h')
add('{m00}:z:unack:'..E,'captured','used','u')
for account,sum in pairs(sums) do
  local A=redis.call('HMGET','{m00}:a:'..account,'h','u')
  if tonumber(A[1] or 0)~=sum.h or tonumber(A[2] or 0)~=sum.u then
    wrong[#wrong+1]=account..': h '..tostring(A[1])..' of '..sum.h..', u '..tostring(A[2])..' of '..sum.u
  end
end
return wrong`

/** Checks the promises that always hold, again and again until it is ended. Then it returns the breaches. */
export function watchLedger(world: World): () => Promise<string[]> {
  const over = new AbortController()
  const breaches = new Set<string>()
  const watching = (async () => {
    while (!over.signal.aborted) {
      for (const line of await readCounters(world)) breaches.add(`in between: I5 ${line}`)
      // An unreachable server cannot be read. That is not a breach.
      const { code, text } = await runCheck(world, [])
      for (const line of code === 1 ? text.split('\n') : []) {
        if (line.includes('BREACH') && !AT_REST_ALONE.test(line)) breaches.add(`in between: ${line}`)
      }
      await pause(EVERY_MS)
    }
  })()
  return async () => {
    over.abort()
    await watching
    return [...breaches].slice(0, MOST_SHOWN)
  }
}

async function readCounters(world: World): Promise<string[]> {
  const asked = world
    .money()
    .eval(COUNTERS, 0)
    .catch(() => [])
  const found = await Promise.race([asked, pause(ANSWER_LIMIT_MS, [], { ref: false })])
  return Array.isArray(found) ? found.map(String) : []
}
