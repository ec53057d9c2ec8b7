/** True for an `Authorization` of the Payment scheme, whether or not it holds a credential. */
export function isOfPaymentScheme(authorization: string | undefined): authorization is string {
  return authorization !== undefined && /^payment( |$)/i.test(authorization)
}
