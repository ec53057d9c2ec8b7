// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.28;

/// A stand-in for the reads of Multicall3 that clients batch.
contract LocalMulticall {
    struct Call {
        address target;
        bytes callData;
    }

    struct Call3 {
        address target;
        bool allowFailure;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    function aggregate3(Call3[] calldata calls) external payable returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 index = 0; index < calls.length; index++) {
            results[index] = ask(calls[index].target, calls[index].callData, !calls[index].allowFailure);
        }
    }

    function tryAggregate(bool requireSuccess, Call[] calldata calls) external payable returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 index = 0; index < calls.length; index++) {
            results[index] = ask(calls[index].target, calls[index].callData, requireSuccess);
        }
    }

    function getEthBalance(address account) external view returns (uint256) {
        return account.balance;
    }

    function getBlockNumber() external view returns (uint256) {
        return block.number;
    }

    function getCurrentBlockTimestamp() external view returns (uint256) {
        return block.timestamp;
    }

    function ask(address target, bytes calldata callData, bool mustSucceed) private returns (Result memory) {
        (bool success, bytes memory returnData) = target.call(callData);
        require(success || !mustSucceed, "Multicall3: call failed");
        return Result(success, returnData);
    }
}
