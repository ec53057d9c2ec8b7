/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type CreateBuyerKeyInput = {
  readonly allowUntrusted?: boolean | null | undefined;
  readonly capDailyUsd?: number | null | undefined;
  readonly capMonthlyUsd?: number | null | undefined;
  readonly expiresAt?: number | null | undefined;
  readonly label: string;
  readonly minDiscountPct?: number | null | undefined;
  readonly modelsAllowed?: ReadonlyArray<string> | null | undefined;
  readonly providersBlocked?: ReadonlyArray<string>;
  readonly rateLimitRpm?: number | null | undefined;
};

export type PageCreateBuyerKeyMutationVariables = Exact<{
  input: CreateBuyerKeyInput;
}>;


export type PageCreateBuyerKeyMutation = { readonly createBuyerKey: { readonly key: string | null, readonly record: { readonly id: string, readonly label: string } } };

export type PageRotateBuyerKeyMutationVariables = Exact<{
  id: string;
  windowSeconds?: number | null | undefined;
}>;


export type PageRotateBuyerKeyMutation = { readonly rotateBuyerKey: { readonly key: string | null, readonly formerExpiresAt: number, readonly record: { readonly id: string, readonly label: string } } };

export type PageRevokeBuyerKeyMutationVariables = Exact<{
  id: string;
}>;


export type PageRevokeBuyerKeyMutation = { readonly revokeBuyerKey: { readonly id: string } };


export const PageCreateBuyerKeyDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageCreateBuyerKey($input: CreateBuyerKeyInput!) {
  createBuyerKey(input: $input) {
    key
    record {
      id
      label
    }
  }
}
    `) as unknown as TypedDocumentString<PageCreateBuyerKeyMutation, PageCreateBuyerKeyMutationVariables>;
export const PageRotateBuyerKeyDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageRotateBuyerKey($id: ID!, $windowSeconds: Int) {
  rotateBuyerKey(id: $id, windowSeconds: $windowSeconds) {
    key
    formerExpiresAt
    record {
      id
      label
    }
  }
}
    `) as unknown as TypedDocumentString<PageRotateBuyerKeyMutation, PageRotateBuyerKeyMutationVariables>;
export const PageRevokeBuyerKeyDocument = /* @__PURE__ */ new TypedDocumentString(`
    mutation PageRevokeBuyerKey($id: ID!) {
  revokeBuyerKey(id: $id) {
    id
  }
}
    `) as unknown as TypedDocumentString<PageRevokeBuyerKeyMutation, PageRevokeBuyerKeyMutationVariables>;