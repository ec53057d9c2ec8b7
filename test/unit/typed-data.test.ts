import { expect, it } from 'vitest'
import { toSnakeBody } from '#shared/field-names.ts'
import { readTypedData } from '#shared/typed-data.ts'

it('data to sign keeps the names of EIP-712 in a snake_case body', () => {
  const text = '{"primaryType":"Permit","domain":{"chainId":1},"types":{"Permit":[]},"message":{"validAfter":"0"}}'
  const body = toSnakeBody({ chainId: 1, typedData: readTypedData(text) })
  expect(JSON.stringify(body)).toBe(`{"chain_id":1,"typed_data":${text}}`)
})
